// Writes into a tensor at computed places, alone or reduced with what is there.
#pragma once

#include "lib/lower/aten/shape_build.h"

namespace oe::lower::shape {

// "" writes; "sum", "prod", "mean", "amax", "amin" reduce. Result in x's shape.
// x, index and src have one rank (>= 1); src may be larger than index, as in PyTorch.
// include_self = false: what was in the written places does not count.
Value scatter_elements(Emit& g, Value x, int64_t axis, Value index, Value src,
                       std::string_view reduce = "", bool include_self = true);
// The same for a 1-d index along one axis: src has x's shape but for that axis.
Value scatter_slices(Emit& g, Value x, int64_t axis, Value index, Value src,
                     std::string_view reduce = "", bool include_self = true);

}  // namespace oe::lower::shape
