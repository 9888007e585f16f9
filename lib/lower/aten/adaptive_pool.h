// Adaptive average pooling, which resizing by mode "area" is too.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

// Pools the last n axes of `x` to `out` (one entry for all axes, or one per axis).
T adaptive_avg(Call& g, T x, Dims out, size_t n);

}  // namespace oe::lower
