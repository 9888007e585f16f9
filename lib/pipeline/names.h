// Applies the user's names to a finished graph.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/options/options.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Names the parameters (--input-names past the inputs; `state_names` in state_dict order), the
// outputs (--output-names), single values (--rename), and the axes of outputs (--dynamic-axes).
// `leaf_count`: the number of --input-names used for inputs. Another value with a wanted name is
// renamed. Throws Failure(Usage) for a missing name or axis and for a name that is wanted twice.
void apply_names(ir::Model& m, const Options& o, const std::vector<std::string>& state_names,
                 size_t leaf_count, Diagnostics& d);

// The name after --rename.
std::string renamed(const std::string& name, const Options& o);

}  // namespace oe
