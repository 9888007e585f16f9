// Variances, norms and logarithms of sums of exponentials.
#include <cmath>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

// Sum of squared distances from the mean, over max(n - correction, 0).
T variance(T x, const MaybeAxes& axes, std::optional<double> correction, bool keepdim) {
  T distance = x - reduce_over("ReduceMean", x, axes, true);
  const auto n = known_count(x, axes);
  const double less = correction.value_or(1);
  if (less == 0 && n && *n > 0)
    return reduce_over("ReduceMean", distance * distance, axes, keepdim);
  T sum = reduce_over("ReduceSumSquare", distance, axes, keepdim);
  if (n) return sum / number(std::max(static_cast<double>(*n) - less, 0.0), x);
  return sum / maximum(count_over(x, axes, x.dtype()) - less, 0);
}

T deviation(T x, const MaybeAxes& axes, std::optional<double> correction, bool keepdim) {
  return sqrt(variance(x, axes, correction, keepdim));
}

// (sum |x|^p)^(1/p), with the limits for p = 0 and the infinities.
T vector_norm(T x, double p, const MaybeAxes& axes, bool keepdim, Rest) {
  if (p == 2) return reduce_over("ReduceL2", x, axes, keepdim);
  if (p == 1) return reduce_over("ReduceL1", x, axes, keepdim);
  if (std::isinf(p)) return extreme_over(p > 0 ? "ReduceMax" : "ReduceMin", abs(x), axes, keepdim);
  if (p == 0) return reduce_over("ReduceSum", cast(to_bool(x), x.dtype()), axes, keepdim);
  T powers = node("Pow", {abs(x), number(p, x)});
  return node("Pow", {reduce_over("ReduceSum", powers, axes, keepdim), number(1 / p, x)});
}

T logsumexp(T x, const Axes& axes, bool keepdim) {
  return reduce("ReduceLogSumExp", x, axes, keepdim);
}

constexpr Lowering table[] = {
    wide<variance>(
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
    wide<deviation>(
        "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
    typed<vector_norm>(
        "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<logsumexp>("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
};

}  // namespace

Table statistics_rows() { return table; }

}  // namespace oe::lower
