// Interpolation written out as products, where ONNX's Resize would differ from PyTorch.
#pragma once

#include "lib/lower/aten/resize_weights.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

// One axis that is resized. `scale`: the factor the model gave and PyTorch uses for positions.
struct Plane {
  Int in, out;
  std::optional<double> scale;
};
using Planes = std::vector<Plane>;

// A matrix product with constant weights per axis; every size has to be known.
T by_weights(Call& g, T x, const Planes& p, Interpolation kind, bool align_corners);
// Linear or cubic for any sizes: 2 or 4 neighbours per output, their positions computed.
T by_taps(Call& g, T x, const Planes& p, Interpolation kind, bool align_corners);

}  // namespace oe::lower
