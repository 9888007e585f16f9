// Grids of sampling points, axis by axis: no tensor of all points is needed.
#include "lib/build/grid.h"

#include <algorithm>

#include "lib/build/builder.h"

namespace oe::build {

T grid_positions(Builder& g, const Int& n, bool align_corners, DType t) {
  if (n.known) {
    const auto last = static_cast<double>(*n.known - 1);
    const double cells = align_corners ? std::max(last, 1.0) : last + 1;
    std::vector<double> at;
    for (double twice = -last; twice <= last; twice += 2) at.push_back(twice / cells);
    return g.numbers(at, {*n.known}, t);
  }
  const DType exact = DType::Double;
  T last = g.value(n) - 1;
  T cells = align_corners ? maximum(last, 1) : g.value(n);
  T twice = g.iota(n) * 2 - last;
  return cast(cast(twice, exact) / cast(cells, exact), t);
}

T affine_grid(T theta, const Values& positions) {
  const auto n = static_cast<int64_t>(positions.size());
  const auto column = [&](int64_t i) {  // [N, n] -> [N, 1, .., 1, n]
    return unsqueeze(gather(theta, theta.builder().i64(i), 2), range(1, n + 1));
  };
  T y = column(n);
  for (int64_t i = 0; i < n; ++i) {
    T at = positions[static_cast<size_t>(i)];
    y = y + unsqueeze(at, range(1, n - i + 1)) * column(n - 1 - i);
  }
  return y;
}

}  // namespace oe::build
