// Sums, means, products, extremes and counts over axes.
#include "lib/lower/aten/reduce.h"

#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

Ints axes_of(T x, const std::optional<Ints>& dims) {
  if (!dims || dims->empty()) return range(0, x.rank());
  Ints out;
  for (int64_t d : *dims) out.push_back(x.ranked() ? x.axis(d) : d);
  return out;
}

T reduce_over(std::string_view op, T x, const std::optional<Ints>& dims, bool keepdim) {
  const bool all = !dims || dims->empty();
  // A 0-d tensor has no axis; ATen lets dim be 0 or -1 all the same.
  return reduce(op, x, all || x->rank() == 0 ? Ints{} : axes_of(x, dims), keepdim);
}

std::optional<int64_t> known_count(T x, const std::optional<Ints>& dims) {
  int64_t n = 1;
  for (int64_t a : axes_of(x, dims)) {
    const auto d = x.dim(a);
    if (!d) return std::nullopt;
    n *= *d;
  }
  return n;
}

T count_over(T x, const std::optional<Ints>& dims, DType t) {
  if (auto n = known_count(x, dims)) return x.builder().integer(*n, t);
  Int n = known(1);
  for (int64_t a : axes_of(x, dims)) n = n * size_of(x, a);
  return cast(n.computed, t);
}

T mean_over(T x, const std::optional<Ints>& dims, bool keepdim) {
  if (!x.ranked() || known_count(x, dims).value_or(0) > 0)
    return reduce_over("ReduceMean", x, dims, keepdim);
  // There may be nothing to reduce: ReduceMean leaves that open.
  const DType c = compute_type(x.dtype());
  T sum = reduce_over("ReduceSum", cast(x, c), dims, keepdim);
  return cast(sum / count_over(x, dims, c), x.dtype());
}

T extreme_over(std::string_view op, T x, const std::optional<Ints>& dims, bool keepdim) {
  T y = reduce_over(op, x, dims, keepdim);
  if (!is_float(x.dtype())) return y;
  T any = reduce_over("ReduceMax", is_nan(x), dims, keepdim);
  return where(any, std::numeric_limits<double>::quiet_NaN(), y);
}

T reduced(T losses, Reduction r) {
  if (r == Reduction::None) return losses;
  return r == Reduction::Mean ? mean_over(losses, std::nullopt, false)
                              : reduce("ReduceSum", losses, {}, false);
}

namespace {

using MaybeInts = std::optional<Ints>;

T sum(Call& g, T x, const MaybeInts& dims, bool keepdim, Skip) {
  return reduce_over("ReduceSum", cast(x, g.result_dtype()), dims, keepdim);
}

T mean(Call& g, T x, const MaybeInts& dims, bool keepdim, Skip) {
  return mean_over(cast(x, g.result_dtype()), dims, keepdim);
}

T product(Call& g, T x, const MaybeInts& dims, bool keepdim) {
  return reduce_over("ReduceProd", cast(x, g.result_dtype()), dims, keepdim);
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
T place(std::string_view op, T x, const std::optional<int64_t>& dim, bool keepdim) {
  if (x.dtype() == DType::Bool) x = cast(x, DType::Int32);  // ONNX finds no place among bools
  if (dim && x.rank() > 0) return place_along(op, x, x.axis(*dim), keepdim);
  T at = place_along(op, reshape(x, Ints{-1}), 0, false);
  if (!keepdim || x.rank() == 0) return at;
  return reshape(at, Ints(static_cast<size_t>(x.rank()), 1));
}

template <FixedString Reduce, FixedString Arg>
constexpr auto extreme_and_place = [](T x, int64_t dim, bool keepdim) {
  return Values{extreme_over(Reduce.view(), x, Ints{dim}, keepdim),
                place(Arg.view(), x, dim, keepdim)};
};
template <FixedString Op>
constexpr auto extreme_of_all = [](T x) { return extreme_over(Op.view(), x, std::nullopt, false); };
template <FixedString Op>
constexpr auto extreme_along =
    [](T x, const Ints& dims, bool keepdim) { return extreme_over(Op.view(), x, dims, keepdim); };
template <FixedString Op>
constexpr auto place_of =
    [](T x, std::optional<int64_t> dim, bool keepdim) { return place(Op.view(), x, dim, keepdim); };

Values aminmax(T x, const std::optional<int64_t>& dim, bool keepdim) {
  const MaybeInts dims = dim ? MaybeInts(Ints{*dim}) : std::nullopt;
  return {extreme_over("ReduceMin", x, dims, keepdim), extreme_over("ReduceMax", x, dims, keepdim)};
}

T count_true(T condition, const MaybeInts& dims, bool keepdim) {
  return reduce_over("ReduceSum", cast(condition, DType::Int64), dims, keepdim);
}

// Counts make the empty cases right: any of nothing is false, all of nothing is true.
T any(T x, const MaybeInts& dims, bool keepdim) {
  return to_bool(count_true(to_bool(x), dims, keepdim));
}
T all(T x, const MaybeInts& dims, bool keepdim) {
  T wrong = count_true(~to_bool(x), dims, keepdim);
  return equal(wrong, 0);
}
template <T (*F)(T, const MaybeInts&, bool)>
constexpr auto truth_of_all = [](T x) { return F(x, std::nullopt, false); };
template <T (*F)(T, const MaybeInts&, bool)>
constexpr auto truth_over = [](T x, int64_t dim, bool keepdim) { return F(x, Ints{dim}, keepdim); };
template <T (*F)(T, const MaybeInts&, bool)>
constexpr auto truth_over_list = [](T x, const MaybeInts& dims, bool keepdim) {
  // An empty list reduces nothing where None reduces everything.
  if (dims && dims->empty()) return to_bool(x);
  return F(x, dims, keepdim);
};

T nan_as_zero(T x) {
  if (!is_float(x.dtype())) return x;
  return where(is_nan(x), 0, x);
}
T nansum(Call& g, T x, const MaybeInts& dims, bool keepdim, Skip) {
  return reduce_over("ReduceSum", cast(nan_as_zero(x), g.result_dtype()), dims, keepdim);
}
T nanmean(Call& g, T x, const MaybeInts& dims, bool keepdim, Skip) {
  T numbers = ~is_nan(x);
  T n = cast(count_true(numbers, dims, keepdim), g.result_dtype());
  return nansum(g, x, dims, keepdim, {}) / n;
}

// Of one shape and with the same elements; shapes are not broadcast.
T same_content(Call& g, T a, T b) {
  if (a.rank() != b.rank()) return g.boolean(false);
  bool one_shape = true;
  for (int64_t i = 0; i < a.rank(); ++i) one_shape = one_shape && same_dim(a, i, b, i);
  auto [x, y] = comparison(g, a, b, false);
  if (one_shape) return all(equal(x, y), std::nullopt, false);
  T sizes = equal(shape(a), shape(b));
  x = flat(x);
  y = flat(y);
  const Int common = min(size_of(x, 0), size_of(y, 0));
  T elements = equal(slice(x, 0, known(0), common), slice(y, 0, known(0), common));
  return all(with_rank(sizes, 1), std::nullopt, false) &
         all(with_rank(elements, 1), std::nullopt, false);
}

constexpr Lowering table[] = {
    op("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, Skip) { return sum(g, x, std::nullopt, false, {}); }),
    op<sum>(
        "aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, Skip) { return mean(g, x, std::nullopt, false, {}); }),
    op<mean>(
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, Skip) { return product(g, x, std::nullopt, false); }),
    op("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor",
       [](Call& g, T x, int64_t dim, bool keepdim, Skip) {
         return product(g, x, Ints{dim}, keepdim);
       }),
    op("aten::max(Tensor self) -> Tensor", extreme_of_all<"ReduceMax">),
    op("aten::min(Tensor self) -> Tensor", extreme_of_all<"ReduceMin">),
    op("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       extreme_along<"ReduceMax">),
    op("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       extreme_along<"ReduceMin">),
    op("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       extreme_and_place<"ReduceMax", "ArgMax">),
    op("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       extreme_and_place<"ReduceMin", "ArgMin">),
    op<aminmax>(
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor max)"),
    op("aten::argmax(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       place_of<"ArgMax">),
    op("aten::argmin(Tensor self, int? dim=None, bool keepdim=False) -> Tensor",
       place_of<"ArgMin">),
    op("aten::any(Tensor self) -> Tensor", truth_of_all<any>),
    op("aten::any.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth_over<any>),
    op("aten::any.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
       truth_over_list<any>),
    op("aten::all(Tensor self) -> Tensor", truth_of_all<all>),
    op("aten::all.dim(Tensor self, int dim, bool keepdim=False) -> Tensor", truth_over<all>),
    op("aten::all.dims(Tensor self, int[]? dim=None, bool keepdim=False) -> Tensor",
       truth_over_list<all>),
    op("aten::is_nonzero(Tensor self) -> bool", [](T x) { return reshape(to_bool(x), Ints{}); }),
    op("aten::equal(Tensor self, Tensor other) -> bool",
       [](Call& g, T a, T b) { return same_content(g, a, b); }),
    op("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
       [](T x, std::optional<int64_t> dim) {
         return count_true(to_bool(x), dim ? MaybeInts(Ints{*dim}) : std::nullopt, false);
       }),
    op("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
       [](T x, const Ints& dims) { return count_true(to_bool(x), dims, false); }),
    op<nansum>(
        "aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
    op<nanmean>(
        "aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor"),
};

}  // namespace

Table reduce_rows() { return table; }

}  // namespace oe::lower
