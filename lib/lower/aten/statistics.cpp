// Variances, norms and logarithms of sums of exponentials.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Sum of squared distances from the mean, over max(n - correction, 0).
T variance(T x, const MaybeAxes& axes, double correction, bool keepdim) {
  T distance = x - reduce_over("ReduceMean", x, axes, true);
  T squares = distance * distance;
  const auto n = known_count(x, axes);
  if (correction == 0 && n && *n > 0) return reduce_over("ReduceMean", squares, axes, keepdim);
  T sum = reduce_over("ReduceSum", squares, axes, keepdim);
  if (n) return sum / number(std::max(static_cast<double>(*n) - correction, 0.0), x);
  return sum / maximum(count_over(x, axes, x.dtype()) - correction, 0);
}

T deviation(T x, const MaybeAxes& axes, double correction, bool keepdim) {
  return sqrt(variance(x, axes, correction, keepdim));
}

using Spread = T (*)(T, const MaybeAxes&, double, bool);
template <Spread F>
T spread_all(T x, bool unbiased) {
  return F(x, {}, unbiased, false);
}
template <Spread F>
T spread_over(T x, const MaybeAxes& axes, bool unbiased, bool keepdim) {
  return F(x, axes, unbiased, keepdim);
}
template <Spread F>
T spread_corrected(T x, const MaybeAxes& axes, std::optional<double> correction, bool keepdim) {
  return F(x, axes, correction.value_or(1), keepdim);
}

// The spread in the computing type, and the mean.
template <Spread F>
Values with_mean_corrected(Call& g, T x, const MaybeAxes& axes, std::optional<double> correction,
                           bool keepdim) {
  const DType t = g.result_dtype();
  T spread = F(cast(x, compute_type(t)), axes, correction.value_or(1), keepdim);
  return {spread, mean_over(cast(x, t), axes, keepdim)};
}
template <Spread F>
Values with_mean_all(Call& g, T x, bool unbiased) {
  return with_mean_corrected<F>(g, x, {}, unbiased, false);
}
template <Spread F>
Values with_mean_over(Call& g, T x, const MaybeAxes& axes, bool unbiased, bool keepdim) {
  return with_mean_corrected<F>(g, x, axes, unbiased, keepdim);
}

// (sum |x|^p)^(1/p), with the limits for p = 0 and the infinities.
T vector_norm(T x, double p, const MaybeAxes& axes, bool keepdim, Rest = {}) {
  if (p == 2) return reduce_over("ReduceL2", x, axes, keepdim);
  if (p == 1) return reduce_over("ReduceL1", x, axes, keepdim);
  if (std::isinf(p)) return extreme_over(p > 0 ? "ReduceMax" : "ReduceMin", abs(x), axes, keepdim);
  if (p == 0) return reduce_over("ReduceSum", cast(to_bool(x), x.dtype()), axes, keepdim);
  T powers = node("Pow", {abs(x), number(p, x)});
  return node("Pow", {reduce_over("ReduceSum", powers, axes, keepdim), number(1 / p, x)});
}
T norm_or_length(T x, std::optional<double> p, const Axes& axes, bool keepdim, Rest = {}) {
  return vector_norm(x, p.value_or(2), axes, keepdim);
}

// Largest or smallest row sum (infinite order) or column sum (order 1).
T matrix_norm(T x, double order, const Axes& pair, bool keepdim, Rest = {}) {
  if (std::fabs(order) == 2)
    throw Unsupported("the spectral norm needs singular values, which ONNX cannot compute");
  const bool rows = std::isinf(order);
  T sums = reduce("ReduceL1", x, Ints{pair[rows ? 1 : 0]}, true);
  T norm =
      extreme_over(order > 0 ? "ReduceMax" : "ReduceMin", sums, Axes{pair[rows ? 0 : 1]}, true);
  return keepdim ? norm : squeeze(norm, pair);
}

T matrix_norm_named(T x, const std::string& order, const Axes& axes, bool keepdim, Rest = {}) {
  if (order != "fro")
    throw Unsupported("the nuclear norm needs singular values, which ONNX cannot compute");
  return vector_norm(x, 2, axes, keepdim);
}

T linalg_norm(T x, std::optional<double> order, const MaybeAxes& axes, bool keepdim, Rest) {
  const size_t n = axes ? axes->size() : static_cast<size_t>(x.rank());
  if (!order || n < 2) return vector_norm(x, order.value_or(2), axes, keepdim);
  return matrix_norm(x, *order, axes.value_or(Axes{0, 1}), keepdim);
}
T linalg_norm_named(T x, const std::string& order, const MaybeAxes& axes, bool keepdim, Rest) {
  return matrix_norm_named(x, order, axes.value_or(Axes{}), keepdim);
}

T logsumexp(T x, const Axes& axes, bool keepdim) {
  return reduce("ReduceLogSumExp", x, axes, keepdim);
}

constexpr Lowering table[] = {
    wide<spread_all<variance>>("aten::var(Tensor self, bool unbiased=True) -> Tensor"),
    wide<spread_over<variance>>(
        "aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"),
    wide<spread_corrected<variance>>(
        "aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
    wide<spread_all<deviation>>("aten::std(Tensor self, bool unbiased=True) -> Tensor"),
    wide<spread_over<deviation>>(
        "aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor"),
    wide<spread_corrected<deviation>>(
        "aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor"),
    op<with_mean_all<variance>>(
        "aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)"),
    op<with_mean_over<variance>>(
        "aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)"),
    op<with_mean_corrected<variance>>(
        "aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"),
    op<with_mean_all<deviation>>(
        "aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)"),
    op<with_mean_over<deviation>>(
        "aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)"),
    op<with_mean_corrected<deviation>>(
        "aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)"),
    typed("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
          [](T x, double p) { return vector_norm(x, p, {}, false); }),
    typed<norm_or_length>(
        "aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor"),
    typed<norm_or_length>(
        "aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor"),
    typed("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
          [](T x, std::optional<double> p, Rest) { return norm_or_length(x, p, {}, false); }),
    typed("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
          [](T x, const Axes& axes, bool keepdim) { return vector_norm(x, 2, axes, keepdim); }),
    typed<vector_norm>(
        "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<matrix_norm>(
        "aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<matrix_norm_named>(
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<linalg_norm>(
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<linalg_norm_named>(
        "aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed<logsumexp>("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
};

}  // namespace

Table statistics_rows() { return table; }

}  // namespace oe::lower
