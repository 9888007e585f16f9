// Variances, norms and logarithms of sums of exponentials.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeInts = std::optional<Ints>;

// Sum of squared distances from the mean, over max(n - correction, 0).
T variance(Call& g, T x, const MaybeInts& dims, double correction, bool keepdim) {
  const DType t = g.result_dtype();
  x = cast(x, compute_type(t));
  const DType c = x.dtype();
  T distance = x - reduce_over("ReduceMean", x, dims, true);
  const auto n = known_count(x, dims);
  if (correction == 0 && n && *n > 0)
    return reduce_over("ReduceMean", distance * distance, dims, keepdim);
  T divisor = nullptr;
  if (n) {
    divisor = g.number(std::max(static_cast<double>(*n) - correction, 0.0), c);
  } else {
    T count = count_over(x, dims, c);
    divisor = maximum(count - correction, 0);
  }
  return reduce_over("ReduceSumSquare", distance, dims, keepdim) / divisor;
}

T deviation(Call& g, T x, const MaybeInts& dims, double correction, bool keepdim) {
  return sqrt(variance(g, x, dims, correction, keepdim));
}

using Spread = T (*)(Call&, T, const MaybeInts&, double, bool);

template <Spread F>
constexpr auto spread_all =
    [](Call& g, T x, bool unbiased) { return F(g, x, std::nullopt, unbiased, false); };
template <Spread F>
constexpr auto spread_over = [](Call& g, T x, const MaybeInts& dims, bool unbiased, bool keepdim) {
  return F(g, x, dims, unbiased, keepdim);
};
template <Spread F>
constexpr auto spread_corrected =
    [](Call& g, T x, const MaybeInts& dims, std::optional<double> correction, bool keepdim) {
      return F(g, x, dims, correction.value_or(1), keepdim);
    };

Values with_mean(Call& g, Spread f, T x, const MaybeInts& dims, double correction, bool keepdim) {
  T spread = f(g, x, dims, correction, keepdim);
  return {spread, mean_over(cast(x, g.result_dtype()), dims, keepdim)};
}
template <Spread F>
constexpr auto with_mean_all =
    [](Call& g, T x, bool unbiased) { return with_mean(g, F, x, std::nullopt, unbiased, false); };
template <Spread F>
constexpr auto with_mean_over =
    [](Call& g, T x, const MaybeInts& dims, bool unbiased, bool keepdim) {
      return with_mean(g, F, x, dims, unbiased, keepdim);
    };
template <Spread F>
constexpr auto with_mean_corrected =
    [](Call& g, T x, const MaybeInts& dims, std::optional<double> correction, bool keepdim) {
      return with_mean(g, F, x, dims, correction.value_or(1), keepdim);
    };

// (sum |x|^p)^(1/p), with the limits for p = 0 and the infinities.
T vector_norm(Call& g, T x, double p, const MaybeInts& dims, bool keepdim) {
  x = cast(x, g.result_dtype());
  if (p == 2) return reduce_over("ReduceL2", x, dims, keepdim);
  if (p == 1) return reduce_over("ReduceL1", x, dims, keepdim);
  if (std::isinf(p)) return extreme_over(p > 0 ? "ReduceMax" : "ReduceMin", abs(x), dims, keepdim);
  if (p == 0) {
    T nonzero = cast(to_bool(x), x.dtype());
    return reduce_over("ReduceSum", nonzero, dims, keepdim);
  }
  T powers = node("Pow", {abs(x), number(p, x)});
  return node("Pow", {reduce_over("ReduceSum", powers, dims, keepdim), number(1 / p, x)});
}

// Largest or smallest row sum (infinite order) or column sum (order 1).
T matrix_norm(Call& g, T x, double order, const Ints& dims, bool keepdim) {
  if (std::fabs(order) == 2)
    throw Unsupported("the spectral norm needs singular values, which ONNX cannot compute");
  x = cast(x, g.result_dtype());
  const Ints pair = axes_of(x, dims);
  const bool rows = std::isinf(order);
  T sums = reduce("ReduceL1", x, Ints{pair[rows ? 1 : 0]}, true);
  T norm =
      extreme_over(order > 0 ? "ReduceMax" : "ReduceMin", sums, Ints{pair[rows ? 0 : 1]}, true);
  return keepdim ? norm : squeeze(norm, pair);
}

T matrix_norm_named(Call& g, T x, const std::string& order, const Ints& dims, bool keepdim, Skip) {
  if (order != "fro")
    throw Unsupported("the nuclear norm needs singular values, which ONNX cannot compute");
  return vector_norm(g, x, 2, dims, keepdim);
}

T linalg_norm(Call& g, T x, std::optional<double> order, const MaybeInts& dims, bool keepdim,
              Skip) {
  const size_t axes = dims ? dims->size() : static_cast<size_t>(x.rank());
  if (!order || axes < 2) return vector_norm(g, x, order.value_or(2), dims, keepdim);
  return matrix_norm(g, x, *order, dims.value_or(Ints{0, 1}), keepdim);
}

T logsumexp(Call& g, T x, const Ints& dims, bool keepdim) {
  return reduce("ReduceLogSumExp", cast(x, g.result_dtype()), dims, keepdim);
}

constexpr Lowering table[] = {
    op("aten::var(Tensor self, bool unbiased=True) -> Tensor", spread_all<variance>),
    op("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       spread_over<variance>),
    op("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       spread_corrected<variance>),
    op("aten::std(Tensor self, bool unbiased=True) -> Tensor", spread_all<deviation>),
    op("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       spread_over<deviation>),
    op("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> Tensor",
       spread_corrected<deviation>),
    op("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       with_mean_all<variance>),
    op("aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
       with_mean_over<variance>),
    op("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       with_mean_corrected<variance>),
    op("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       with_mean_all<deviation>),
    op("aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> (Tensor, Tensor)",
       with_mean_over<deviation>),
    op("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool keepdim=False) -> (Tensor, Tensor)",
       with_mean_corrected<deviation>),
    op("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
       [](Call& g, T x, double p) { return vector_norm(g, x, p, std::nullopt, false); }),
    op("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> Tensor",
       [](Call& g, T x, std::optional<double> p, const Ints& dims, bool keepdim) {
         return vector_norm(g, x, p.value_or(2), dims, keepdim);
       }),
    op("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, ScalarType dtype) -> Tensor",
       [](Call& g, T x, std::optional<double> p, const Ints& dims, bool keepdim, Skip) {
         return vector_norm(g, x, p.value_or(2), dims, keepdim);
       }),
    op("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
       [](Call& g, T x, std::optional<double> p, Skip) {
         return vector_norm(g, x, p.value_or(2), std::nullopt, false);
       }),
    op("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       [](Call& g, T x, const Ints& dims, bool keepdim) {
         return vector_norm(g, x, 2, dims, keepdim);
       }),
    op("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, double p, const MaybeInts& dims, bool keepdim, Skip) {
         return vector_norm(g, x, p, dims, keepdim);
       }),
    op("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, double order, const Ints& dims, bool keepdim, Skip) {
         return matrix_norm(g, x, order, dims, keepdim);
       }),
    op<matrix_norm_named>(
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op<linalg_norm>(
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, const std::string& order, const MaybeInts& dims, bool keepdim, Skip) {
         return matrix_norm_named(g, x, order, dims.value_or(Ints{-2, -1}), keepdim, {});
       }),
    op<logsumexp>("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
};

}  // namespace

Table statistics_rows() { return table; }

}  // namespace oe::lower
