// PyTorch's interpolation of one axis, worked out at export (aten/src/ATen/native/UpSample.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace oe::lower {

enum class Interpolation { Linear, Cubic, LinearAntialias, CubicAntialias, LanczosAntialias };

// Input elements per output element. `scale`: the factor the model gave, if it counts.
double step(int64_t in, int64_t out, bool align_corners, std::optional<double> scale);

// Which input element each output takes. `exact`: "nearest-exact". PyTorch works in float32
// except for double tensors, and its rounding decides.
std::vector<int64_t> nearest_indices(int64_t in, int64_t out, std::optional<double> scale,
                                     bool exact, bool in_double);

// [out, in] weights, row-major.
std::vector<double> weights(Interpolation kind, int64_t in, int64_t out, bool align_corners,
                            std::optional<double> scale);

}  // namespace oe::lower
