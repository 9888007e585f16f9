// Grids of sampling points.
#pragma once

#include "lib/build/value.h"

namespace oe::build {

// Positions of n elements in [-1, 1]: the ends and what is evenly between, or the middles of n
// equal cells. One element is in the middle.
T grid_positions(Builder& g, const Int& n, bool align_corners, DType t);

// theta [N, n, n + 1] applied to every point of a grid: [N, sizes.., n]. `positions` are those
// along each axis; the coordinates of a point count from the innermost axis.
T affine_grid(T theta, const Values& positions);

}  // namespace oe::build
