// Sums, means, products, extremes and counts over axes.
#include "lib/lower/aten/reduce.h"

#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

namespace {

Ints all_or(T x, const MaybeAxes& axes) {
  if (axes && !axes->empty()) return *axes;
  return range(0, x.rank());
}

}  // namespace

T reduce_over(std::string_view op, T x, const MaybeAxes& axes, bool keepdim) {
  // A 0-d tensor has no axis; ATen lets dim be 0 or -1 all the same.
  const bool all = !axes || x->rank() == 0;
  return reduce(op, x, all ? Ints{} : Ints(*axes), keepdim);
}

std::optional<int64_t> known_count(T x, const MaybeAxes& axes) {
  int64_t n = 1;
  for (int64_t a : all_or(x, axes)) {
    const auto d = x.dim(a);
    if (!d) return std::nullopt;
    n *= *d;
  }
  return n;
}

T count_over(T x, const MaybeAxes& axes, DType t) {
  if (auto n = known_count(x, axes)) return x.builder().integer(*n, t);
  Int n = known(1);
  for (int64_t a : all_or(x, axes)) n = n * size_of(x, a);
  return cast(n.computed, t);
}

T mean_over(T x, const MaybeAxes& axes, bool keepdim, Rest) {
  if (!x.ranked() || known_count(x, axes).value_or(0) > 0)
    return reduce_over("ReduceMean", x, axes, keepdim);
  // There may be nothing to reduce: ReduceMean leaves that open.
  const DType c = compute_type(x.dtype());
  T sum = reduce_over("ReduceSum", cast(x, c), axes, keepdim);
  return cast(sum / count_over(x, axes, c), x.dtype());
}

T extreme_over(std::string_view op, T x, const MaybeAxes& axes, bool keepdim) {
  T y = reduce_over(op, x, axes, keepdim);
  if (!is_float(x.dtype())) return y;
  T any = reduce_over("ReduceMax", is_nan(x), axes, keepdim);
  return where(any, std::numeric_limits<double>::quiet_NaN(), y);
}

T reduced(T losses, Reduction r) {
  if (r == Reduction::None) return losses;
  return r == Reduction::Mean ? mean_over(losses, {}, false)
                              : reduce("ReduceSum", losses, {}, false);
}

namespace {

T sum(T x, const MaybeAxes& axes, bool keepdim, Rest) {
  return reduce_over("ReduceSum", x, axes, keepdim);
}

T product(T x, Axis axis, bool keepdim, Rest) {
  return reduce_over("ReduceProd", x, Axes{axis}, keepdim);
}

// The first place of the extreme along an axis, which a NaN is in both directions.
T place_along(std::string_view op, T x, int64_t axis, bool keepdim) {
  const ir::Attributes attributes{{"axis", axis}, {"keepdims", int64_t{keepdim}}};
  T at = node(op, {x}, attributes);
  if (!is_float(x.dtype())) return at;
  T nans = cast(is_nan(x), DType::Int32);
  T any = reduce("ReduceMax", nans, {axis}, keepdim);
  return where(to_bool(any), node("ArgMax", {nans}, attributes), at);
}

// Without an axis the place is that in the flattened tensor.
template <FixedString Op>
T place(T x, const std::optional<Axis>& axis, bool keepdim) {
  if (x.dtype() == DType::Bool) x = cast(x, DType::Int32);  // ONNX finds no place among bools
  if (axis && x.rank() > 0) return place_along(Op.view(), x, *axis, keepdim);
  T at = place_along(Op.view(), reshape(x, Ints{-1}), 0, false);
  if (!keepdim || x.rank() == 0) return at;
  return reshape(at, Ints(static_cast<size_t>(x.rank()), 1));
}

template <FixedString Op>
T extreme_of_all(T x) {
  return extreme_over(Op.view(), x, {}, false);
}
template <FixedString Op>
T extreme_along(T x, const Axes& axes, bool keepdim) {
  return extreme_over(Op.view(), x, axes, keepdim);
}
template <FixedString Reduce, FixedString Arg>
Values extreme_and_place(T x, Axis axis, bool keepdim) {
  return {extreme_along<Reduce>(x, Axes{axis}, keepdim), place<Arg>(x, axis, keepdim)};
}

Values aminmax(T x, const std::optional<Axis>& axis, bool keepdim) {
  const Axes axes = axis ? Axes{*axis} : Axes{};
  return {extreme_along<"ReduceMin">(x, axes, keepdim),
          extreme_along<"ReduceMax">(x, axes, keepdim)};
}

T count_true(T condition, const MaybeAxes& axes, bool keepdim) {
  return reduce_over("ReduceSum", cast(condition, DType::Int64), axes, keepdim);
}

// Counts make the empty cases right: any of nothing is false, all of nothing is true.
T any(T x, const MaybeAxes& axes, bool keepdim) {
  return to_bool(count_true(to_bool(x), axes, keepdim));
}
T all(T x, const MaybeAxes& axes, bool keepdim) {
  T wrong = count_true(~to_bool(x), axes, keepdim);
  return equal(wrong, 0);
}
using Truth = T (*)(T, const MaybeAxes&, bool);
template <Truth F>
T truth_of_all(T x) {
  return F(x, {}, false);
}
template <Truth F>
T truth_along(T x, Axis axis, bool keepdim) {
  return F(x, Axes{axis}, keepdim);
}
template <Truth F>
T truth_over(T x, const MaybeAxes& axes, bool keepdim) {
  // An empty list reduces nothing where None reduces everything.
  return axes && axes->empty() ? to_bool(x) : F(x, axes, keepdim);
}

T count_nonzero(T x, const std::optional<Axis>& axis) {
  return count_true(to_bool(x), axis ? Axes{*axis} : Axes{}, false);
}

T nan_as_zero(T x) {
  if (!is_float(x.dtype())) return x;
  return where(is_nan(x), 0, x);
}
T nansum(Call& g, T x, const MaybeAxes& axes, bool keepdim, Rest) {
  return reduce_over("ReduceSum", cast(nan_as_zero(x), g.result_dtype()), axes, keepdim);
}
T nanmean(Call& g, T x, const MaybeAxes& axes, bool keepdim, Rest) {
  T numbers = ~is_nan(x);
  T n = cast(count_true(numbers, axes, keepdim), g.result_dtype());
  return nansum(g, x, axes, keepdim, {}) / n;
}

// Of one shape and with the same elements; shapes are not broadcast.
T same_content(Call& g, T a, T b) {
  if (a.rank() != b.rank()) return g.boolean(false);
  bool one_shape = true;
  for (int64_t i = 0; i < a.rank(); ++i) one_shape = one_shape && same_dim(a, i, b, i);
  auto [x, y] = comparison(g, a, b, false);
  if (one_shape) return all(equal(x, y), {}, false);
  T sizes = equal(shape(a), shape(b));
  x = flat(x);
  y = flat(y);
  const Int common = min(size_of(x, 0), size_of(y, 0));
  T elements = equal(slice(x, 0, known(0), common), slice(y, 0, known(0), common));
  return all(with_rank(sizes, 1), {}, false) & all(with_rank(elements, 1), {}, false);
}

constexpr Lowering table[] = {
    typed("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
          [](T x, Rest) { return reduce("ReduceSum", x, {}, false); }),
    typed<sum>(
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
          [](T x, Rest) { return mean_over(x, {}, false); }),
    typed<mean_over>(
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    typed("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
          [](T x, Rest) { return reduce("ReduceProd", x, {}, false); }),
    typed<product>(
        "aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op<extreme_of_all<"ReduceMax">>("aten::max(Tensor self) -> Tensor"),
    op<extreme_of_all<"ReduceMin">>("aten::min(Tensor self) -> Tensor"),
    op<extreme_along<"ReduceMax">>(
        "aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    op<extreme_along<"ReduceMin">>(
        "aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor"),
    op<extreme_and_place<"ReduceMax", "ArgMax">>(
        "aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    op<extreme_and_place<"ReduceMin", "ArgMin">>(
        "aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    op<aminmax>(
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"),
    op<place<"ArgMax">>("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    op<place<"ArgMin">>("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor"),
    op<truth_of_all<any>>("aten::any(Tensor self) -> Tensor"),
    op<truth_along<any>>("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    op<truth_over<any>>(
        "aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    op<truth_of_all<all>>("aten::all(Tensor self) -> Tensor"),
    op<truth_along<all>>("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor"),
    op<truth_over<all>>(
        "aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor"),
    op("aten::is_nonzero(Tensor self) -> bool", [](T x) { return reshape(to_bool(x), Ints{}); }),
    op<same_content>("aten::equal(Tensor self, Tensor other) -> bool"),
    op<count_nonzero>("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor"),
    op("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
       [](T x, const Axes& axes) { return count_true(to_bool(x), axes, false); }),
    op<nansum>(
        "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op<nanmean>(
        "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
};

}  // namespace

Table reduce_rows() { return table; }

}  // namespace oe::lower
