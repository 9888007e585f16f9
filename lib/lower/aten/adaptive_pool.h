// Adaptive average pooling, which resizing by mode "area" is too.
#pragma once

#include "lib/lower/aten/nn_build.h"

namespace oe::lower::nn {

// Pools the last n axes of `x` to `out` (one entry for all axes, or one per axis).
Value adaptive_avg(Emit& g, Value x, Dims out, size_t n);

}  // namespace oe::lower::nn
