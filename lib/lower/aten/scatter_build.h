// Writes into a tensor at computed places, alone or reduced with what is there.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

// "" writes; "sum", "prod", "mean", "amax", "amin" reduce. Result in x's shape.
// x, index and src have one rank (>= 1); src may be larger than index, as in PyTorch.
// include_self = false: what was in the written places does not count.
T scatter_elements(Call& g, T x, int64_t axis, T index, T src, std::string_view reduce = "",
                   bool include_self = true);
// The same for a 1-d index along one axis: src has x's shape but for that axis.
T scatter_slices(Call& g, T x, int64_t axis, T index, T src, std::string_view reduce = "",
                 bool include_self = true);

}  // namespace oe::lower
