// Source positions and weights of PyTorch's interpolations.
#include "lib/lower/aten/resize_weights.h"

#include <algorithm>
#include <cmath>

namespace oe::lower {
namespace {

template <class T>
std::vector<int64_t> nearest(int64_t in, int64_t out, std::optional<double> scale, bool exact) {
  const T s =
      scale && *scale > 0 ? static_cast<T>(1.0 / *scale) : static_cast<T>(in) / static_cast<T>(out);
  std::vector<int64_t> r;
  for (int64_t i = 0; i < out; ++i) {
    const T at = exact ? (static_cast<T>(i) + static_cast<T>(0.5)) * s : static_cast<T>(i) * s;
    r.push_back(std::min(static_cast<int64_t>(std::floor(at)), in - 1));
  }
  return r;
}

// Keys' cubic with parameter a, and the other filters; `x` in units of the filter.
double cubic(double x, double a) {
  x = std::fabs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * a;
  return 0;
}

double filter(Interpolation kind, double x) {
  const double pi = std::acos(-1.0);
  auto sinc = [&](double v) { return v == 0 ? 1.0 : std::sin(pi * v) / (pi * v); };
  switch (kind) {
    case Interpolation::CubicAntialias:
      return cubic(x, -0.5);
    case Interpolation::LanczosAntialias:
      return std::fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
    default:
      return std::max(0.0, 1 - std::fabs(x));
  }
}

// Pillow's way: the filter is widened when the axis shrinks, and its weights add up to 1.
void antialias_row(Interpolation kind, double s, int64_t i, int64_t in, double* row) {
  const double taps = kind == Interpolation::LinearAntialias  ? 2
                      : kind == Interpolation::CubicAntialias ? 4
                                                              : 6;
  const double support = s >= 1 ? taps * 0.5 * s : taps * 0.5;
  const double inverse = s >= 1 ? 1 / s : 1;
  const double center = s * (static_cast<double>(i) + 0.5);
  const int64_t first = std::max<int64_t>(static_cast<int64_t>(center - support + 0.5), 0);
  const int64_t last = std::min<int64_t>(static_cast<int64_t>(center + support + 0.5), in);
  double total = 0;
  for (int64_t j = first; j < last; ++j)
    total += row[j] = filter(kind, (static_cast<double>(j) - center + 0.5) * inverse);
  for (int64_t j = first; j < last && total != 0; ++j) row[j] /= total;
}

}  // namespace

double step(int64_t in, int64_t out, bool align_corners, std::optional<double> scale) {
  if (align_corners)
    return out > 1 ? static_cast<double>(in - 1) / static_cast<double>(out - 1) : 0;
  if (scale && *scale > 0) return 1 / *scale;
  return static_cast<double>(in) / static_cast<double>(out);
}

std::vector<int64_t> nearest_indices(int64_t in, int64_t out, std::optional<double> scale,
                                     bool exact, bool in_double) {
  return in_double ? nearest<double>(in, out, scale, exact) : nearest<float>(in, out, scale, exact);
}

std::vector<double> weights(Interpolation kind, int64_t in, int64_t out, bool align_corners,
                            std::optional<double> scale) {
  std::vector<double> m(static_cast<size_t>(in * out), 0.0);
  const double s = step(in, out, align_corners, scale);
  for (int64_t i = 0; i < out; ++i) {
    double* row = m.data() + i * in;
    if (kind != Interpolation::Linear && kind != Interpolation::Cubic) {
      antialias_row(kind, s, i, in, row);
      continue;
    }
    double at =
        align_corners ? s * static_cast<double>(i) : s * (static_cast<double>(i) + 0.5) - 0.5;
    if (kind == Interpolation::Linear) at = std::max(at, 0.0);
    const auto base = static_cast<int64_t>(std::floor(at));
    const int64_t reach = kind == Interpolation::Linear ? 0 : 1;
    for (int64_t j = base - reach; j <= base + 1 + reach; ++j) {
      const double d = at - static_cast<double>(j);
      row[std::clamp<int64_t>(j, 0, in - 1)] +=
          kind == Interpolation::Linear ? std::max(0.0, 1 - std::fabs(d)) : cubic(d, -0.75);
    }
  }
  return m;
}

}  // namespace oe::lower
