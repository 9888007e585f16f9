// Running sums, products and extremes along an axis.
#include <cmath>
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T cumsum(Call& g, T x, Axis axis, Skip) {
  x = cast(x, g.result_dtype());
  return x.rank() == 0 ? x : node("CumSum", {x, g.i64(axis)});
}

T cumprod(T x, Axis axis, Rest) {
  return x.rank() == 0 ? x : node("CumProd", {x, x.builder().i64(axis)});
}

// Running log(exp(a) + exp(b)), from -inf.
T logcumsumexp(Call& g, T x, Axis axis) {
  const DType t = g.result_dtype();
  x = cast(x, compute_type(t));
  if (x.rank() == 0) return x;
  const auto step = [&](const Values& state, T slice) {
    T high = maximum(state[0], slice), low = minimum(state[0], slice);
    T gap = low - high;
    T sum = high + log1p(exp(gap));
    // Two equal infinities have no difference; the higher one is their sum.
    T infinite = unary("IsInf", high);
    return Values{where(infinite, high, sum)};
  };
  return g.scan(x, axis, {number(-std::numeric_limits<double>::infinity(), x)}, step)[0];
}

// The latest place wins among equals; NaN stays once it came.
Values running_extreme(Call& g, T x, Axis axis, std::string_view order, double start) {
  if (x.rank() == 0) return {x, g.i64(0)};
  const DType t = x.dtype();
  if (t == DType::Bool) x = cast(x, DType::Int32);
  const bool whole = !is_float(x.dtype());
  T first = whole ? cast(node("Reduce" + std::string(order == "GreaterOrEqual" ? "Min" : "Max"),
                              {x}, {{"keepdims", int64_t{0}}}),
                         x.dtype())
                  : g.number(start, x.dtype());
  const auto step = [&](const Values& state, T slice) {
    T better = node(order, {slice, state[0]});
    if (!whole) better = better | is_nan(slice);
    return Values{where(better, slice, state[0]), where(better, state[2], state[1]), state[2] + 1};
  };
  Values out = g.scan(x, axis, {first, g.i64(0), g.i64(0)}, step);
  return {cast(out[0], t), out[1]};
}
Values cummax(Call& g, T x, Axis axis) {
  x = cast(x, compute_type(x.dtype()));  // Scan takes no bfloat16 at opset 13
  return running_extreme(g, x, axis, "GreaterOrEqual", -std::numeric_limits<double>::infinity());
}
Values cummin(Call& g, T x, Axis axis) {
  x = cast(x, compute_type(x.dtype()));
  return running_extreme(g, x, axis, "LessOrEqual", std::numeric_limits<double>::infinity());
}

constexpr Lowering table[] = {
    op<cumsum>("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    wide<cumprod>("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    op<logcumsumexp>("aten::logcumsumexp(Tensor self, int dim) -> Tensor"),
    op<cummax>("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    op<cummin>("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
};

}  // namespace

Table scan_rows() { return table; }

}  // namespace oe::lower
