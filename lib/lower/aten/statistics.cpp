// Variances, norms and logarithms of sums of exponentials.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using red::reduce;
using MaybeInts = std::optional<Ints>;

// Sum of squared distances from the mean, over max(n - correction, 0).
Value variance(Emit& g, Value x, const MaybeInts& dims, double correction, bool keepdim) {
  const DType t = g.result_dtype();
  x = g.cast(x, compute_type(t));
  const DType c = g.dtype(x);
  Value distance = pw::sub(g, x, reduce(g, "ReduceMean", x, dims, true));
  Value squares = pw::mul(g, distance, distance);
  const auto n = red::known_count(g, x, dims);
  if (correction == 0 && n && *n > 0) return reduce(g, "ReduceMean", squares, dims, keepdim);
  Value divisor = nullptr;
  if (n) {
    divisor = g.number(std::max(static_cast<double>(*n) - correction, 0.0), c);
  } else {
    Value count = red::count(g, x, dims, c);
    divisor = g.node("Max", {pw::sub(g, count, g.number(correction, c)), g.number(0, c)});
  }
  return pw::div(g, reduce(g, "ReduceSum", squares, dims, keepdim), divisor);
}

Value deviation(Emit& g, Value x, const MaybeInts& dims, double correction, bool keepdim) {
  return g.node("Sqrt", {variance(g, x, dims, correction, keepdim)});
}

using Spread = Value (*)(Emit&, Value, const MaybeInts&, double, bool);

template <Spread F>
constexpr auto spread_all =
    [](Emit& g, Value x, bool unbiased) { return F(g, x, std::nullopt, unbiased, false); };
template <Spread F>
constexpr auto spread_over = [](Emit& g, Value x, const MaybeInts& dims, bool unbiased,
                                bool keepdim) { return F(g, x, dims, unbiased, keepdim); };
template <Spread F>
constexpr auto spread_corrected =
    [](Emit& g, Value x, const MaybeInts& dims, std::optional<double> correction, bool keepdim) {
      return F(g, x, dims, correction.value_or(1), keepdim);
    };

Values with_mean(Emit& g, Spread f, Value x, const MaybeInts& dims, double correction,
                 bool keepdim) {
  Value spread = f(g, x, dims, correction, keepdim);
  return {spread, red::mean(g, g.cast(x, g.result_dtype()), dims, keepdim)};
}
template <Spread F>
constexpr auto with_mean_all = [](Emit& g, Value x, bool unbiased) {
  return with_mean(g, F, x, std::nullopt, unbiased, false);
};
template <Spread F>
constexpr auto with_mean_over =
    [](Emit& g, Value x, const MaybeInts& dims, bool unbiased, bool keepdim) {
      return with_mean(g, F, x, dims, unbiased, keepdim);
    };
template <Spread F>
constexpr auto with_mean_corrected =
    [](Emit& g, Value x, const MaybeInts& dims, std::optional<double> correction, bool keepdim) {
      return with_mean(g, F, x, dims, correction.value_or(1), keepdim);
    };

// (sum |x|^p)^(1/p), with the limits for p = 0 and the infinities.
Value vector_norm(Emit& g, Value x, double p, const MaybeInts& dims, bool keepdim) {
  x = g.cast(x, g.result_dtype());
  if (p == 2) return reduce(g, "ReduceL2", x, dims, keepdim);
  if (p == 1) return reduce(g, "ReduceL1", x, dims, keepdim);
  if (std::isinf(p))
    return red::extreme(g, p > 0 ? "ReduceMax" : "ReduceMin", pw::abs(g, x), dims, keepdim);
  if (p == 0) {
    Value nonzero = g.cast(pw::to_bool(g, x), g.dtype(x));
    return reduce(g, "ReduceSum", nonzero, dims, keepdim);
  }
  Value powers = g.node("Pow", {pw::abs(g, x), pw::num(g, p, x)});
  return g.node("Pow", {reduce(g, "ReduceSum", powers, dims, keepdim), pw::num(g, 1 / p, x)});
}

// Largest or smallest row sum (infinite order) or column sum (order 1).
Value matrix_norm(Emit& g, Value x, double order, const Ints& dims, bool keepdim) {
  if (std::fabs(order) == 2)
    throw Unsupported("the spectral norm needs singular values, which ONNX cannot compute");
  x = g.cast(x, g.result_dtype());
  const Ints pair = red::axes(g, x, dims);
  const bool rows = std::isinf(order);
  Value sums = reduce(g, "ReduceL1", x, Ints{pair[rows ? 1 : 0]}, true);
  Value norm =
      red::extreme(g, order > 0 ? "ReduceMax" : "ReduceMin", sums, Ints{pair[rows ? 0 : 1]}, true);
  return keepdim ? norm : g.node("Squeeze", {norm, g.i64s(pair)});
}

Value matrix_norm_named(Emit& g, Value x, const std::string& order, const Ints& dims, bool keepdim,
                        Skip) {
  if (order != "fro")
    throw Unsupported("the nuclear norm needs singular values, which ONNX cannot compute");
  return vector_norm(g, x, 2, dims, keepdim);
}

Value linalg_norm(Emit& g, Value x, std::optional<double> order, const MaybeInts& dims,
                  bool keepdim, Skip) {
  const size_t axes = dims ? dims->size() : static_cast<size_t>(g.rank(x));
  if (!order || axes < 2) return vector_norm(g, x, order.value_or(2), dims, keepdim);
  return matrix_norm(g, x, *order, dims.value_or(Ints{0, 1}), keepdim);
}

Value logsumexp(Emit& g, Value x, const Ints& dims, bool keepdim) {
  return reduce(g, "ReduceLogSumExp", g.cast(x, g.result_dtype()), dims, keepdim);
}

constexpr Lowering table[] = {
    op("aten::var(Tensor self, bool unbiased=True) -> Tensor", spread_all<variance>),
    op("aten::var.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       spread_over<variance>),
    op("aten::var.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> Tensor",
       spread_corrected<variance>),
    op("aten::std(Tensor self, bool unbiased=True) -> Tensor", spread_all<deviation>),
    op("aten::std.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> Tensor",
       spread_over<deviation>),
    op("aten::std.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> Tensor",
       spread_corrected<deviation>),
    op("aten::var_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       with_mean_all<variance>),
    op("aten::var_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
       "(Tensor, Tensor)",
       with_mean_over<variance>),
    op("aten::var_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       with_mean_corrected<variance>),
    op("aten::std_mean(Tensor self, bool unbiased=True) -> (Tensor, Tensor)",
       with_mean_all<deviation>),
    op("aten::std_mean.dim(Tensor self, int[1]? dim, bool unbiased=True, bool keepdim=False) -> "
       "(Tensor, Tensor)",
       with_mean_over<deviation>),
    op("aten::std_mean.correction(Tensor self, int[1]? dim=None, *, Scalar? correction=None, bool "
       "keepdim=False) -> (Tensor, Tensor)",
       with_mean_corrected<deviation>),
    op("aten::norm.Scalar(Tensor self, Scalar p=2) -> Tensor",
       [](Emit& g, Value x, double p) { return vector_norm(g, x, p, std::nullopt, false); }),
    op("aten::norm.ScalarOpt_dim(Tensor self, Scalar? p, int[1] dim, bool keepdim=False) -> "
       "Tensor",
       [](Emit& g, Value x, std::optional<double> p, const Ints& dims, bool keepdim) {
         return vector_norm(g, x, p.value_or(2), dims, keepdim);
       }),
    op("aten::norm.ScalarOpt_dim_dtype(Tensor self, Scalar? p, int[1] dim, bool keepdim, *, "
       "ScalarType dtype) -> Tensor",
       [](Emit& g, Value x, std::optional<double> p, const Ints& dims, bool keepdim, Skip) {
         return vector_norm(g, x, p.value_or(2), dims, keepdim);
       }),
    op("aten::norm.ScalarOpt_dtype(Tensor self, Scalar? p, *, ScalarType dtype) -> Tensor",
       [](Emit& g, Value x, std::optional<double> p, Skip) {
         return vector_norm(g, x, p.value_or(2), std::nullopt, false);
       }),
    op("aten::frobenius_norm.dim(Tensor self, int[1] dim, bool keepdim=False) -> Tensor",
       [](Emit& g, Value x, const Ints& dims, bool keepdim) {
         return vector_norm(g, x, 2, dims, keepdim);
       }),
    op("aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, "
       "*, ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, double p, const MaybeInts& dims, bool keepdim, Skip) {
         return vector_norm(g, x, p, dims, keepdim);
       }),
    op("aten::linalg_matrix_norm(Tensor self, Scalar ord, int[] dim=[-2, -1], bool keepdim=False, "
       "*, ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, double order, const Ints& dims, bool keepdim, Skip) {
         return matrix_norm(g, x, order, dims, keepdim);
       }),
    op<matrix_norm_named>(
        "aten::linalg_matrix_norm.str_ord(Tensor self, str ord=\"fro\", int[] dim=[-2, -1], bool "
        "keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op<linalg_norm>(
        "aten::linalg_norm(Tensor self, Scalar? ord=None, int[1]? dim=None, bool keepdim=False, "
        "*, ScalarType? dtype=None) -> Tensor"),
    op("aten::linalg_norm.ord_str(Tensor self, str ord, int[1]? dim=None, bool keepdim=False, *, "
       "ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, const std::string& order, const MaybeInts& dims, bool keepdim, Skip) {
         return matrix_norm_named(g, x, order, dims.value_or(Ints{-2, -1}), keepdim, {});
       }),
    op<logsumexp>("aten::logsumexp(Tensor self, int[1] dim, bool keepdim=False) -> Tensor"),
};

}  // namespace

Table statistics_rows() { return table; }

}  // namespace oe::lower
