// The names the user asked for, put on a finished graph.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/options/options.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Names for the parameters (--input-names past the inputs; `state_names` in state_dict order), the
// outputs (--output-names), single values (--rename), and the axes of outputs (--dynamic-axes).
// `leaf_count`: how many of --input-names went to inputs. A value that has a wanted name gives way.
// Throws Failure(Usage) for a name or axis that does not exist and for one name wanted twice.
void apply_names(ir::Model& m, const Options& o, const std::vector<std::string>& state_names,
                 size_t leaf_count, Diagnostics& d);

// What --rename makes of a name.
std::string renamed(const std::string& name, const Options& o);

}  // namespace oe
