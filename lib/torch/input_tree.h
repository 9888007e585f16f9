// The tree of a method's arguments: which SPEC, saved value or default fills which place.
#pragma once

#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// Arguments and leaves with their values, not yet the names of axes. `leaf_specs`: for each leaf
// the SPEC that made it, an empty one where there was none. Throws as make_inputs() does.
ExampleInputs build_arguments(const Options& o, const Loaded& m,
                              std::vector<InputSpec>& leaf_specs);

}  // namespace oe::torch_io
