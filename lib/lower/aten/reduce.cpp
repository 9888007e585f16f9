// Sums, means, products, extremes and counts over axes.
#include "lib/lower/aten/reduce.h"

#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/aten/shape_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {

namespace red {

Ints axes(const Emit& g, Value x, const std::optional<Ints>& dims) {
  Ints out;
  if (!dims || dims->empty()) {
    for (int64_t a = 0; a < g.rank(x); ++a) out.push_back(a);
    return out;
  }
  for (int64_t d : *dims) out.push_back(x->type.shape ? g.axis(x, d) : d);
  return out;
}

Value reduce(Emit& g, std::string_view op, Value x, const std::optional<Ints>& dims, bool keepdim) {
  const ir::Attributes attributes{{"keepdims", int64_t{keepdim}}};
  const bool all = !dims || dims->empty();
  // A 0-d tensor has no axis; ATen lets dim be 0 or -1 all the same.
  if (all || (x->type.shape && x->type.shape->empty())) return g.node(op, {x}, attributes);
  return g.node(op, {x, g.i64s(axes(g, x, dims))}, attributes);
}

std::optional<int64_t> known_count(const Emit& g, Value x, const std::optional<Ints>& dims) {
  int64_t n = 1;
  for (int64_t a : axes(g, x, dims)) {
    const auto d = g.dim(x, a);
    if (!d) return std::nullopt;
    n *= *d;
  }
  return n;
}

Value count(Emit& g, Value x, const std::optional<Ints>& dims, DType t) {
  if (auto n = known_count(g, x, dims)) return g.integer(*n, t);
  Value n = nullptr;
  for (int64_t a : axes(g, x, dims)) {
    Value d = g.size(x, a);
    n = n ? pw::mul(g, n, d) : d;
  }
  return g.cast(n, t);
}

Value mean(Emit& g, Value x, const std::optional<Ints>& dims, bool keepdim) {
  if (!x->type.shape || known_count(g, x, dims).value_or(0) > 0)
    return reduce(g, "ReduceMean", x, dims, keepdim);
  // There may be nothing to reduce: ReduceMean leaves that open.
  const DType c = compute_type(g.dtype(x));
  Value sum = reduce(g, "ReduceSum", g.cast(x, c), dims, keepdim);
  return g.cast(pw::div(g, sum, count(g, x, dims, c)), g.dtype(x));
}

Value extreme(Emit& g, std::string_view op, Value x, const std::optional<Ints>& dims,
              bool keepdim) {
  Value y = reduce(g, op, x, dims, keepdim);
  if (!is_float(g.dtype(x))) return y;
  Value nans = g.cast(g.node("IsNaN", {x}), DType::Int32);
  nans->type.shape = x->type.shape;
  Value any = pw::to_bool(g, reduce(g, "ReduceMax", nans, dims, keepdim));
  return pw::where(g, any, pw::num(g, std::numeric_limits<double>::quiet_NaN(), y), y);
}

}  // namespace red

namespace {

using red::reduce;
using MaybeInts = std::optional<Ints>;

Value sum(Emit& g, Value x, const MaybeInts& dims, bool keepdim, Skip) {
  return reduce(g, "ReduceSum", g.cast(x, g.result_dtype()), dims, keepdim);
}

Value mean(Emit& g, Value x, const MaybeInts& dims, bool keepdim, Skip) {
  return red::mean(g, g.cast(x, g.result_dtype()), dims, keepdim);
}

Value product(Emit& g, Value x, const MaybeInts& dims, bool keepdim) {
  return reduce(g, "ReduceProd", g.cast(x, g.result_dtype()), dims, keepdim);
}

// ONNX orders no bools.
Value ordered(Emit& g, Value x) { return g.dtype(x) == DType::Bool ? g.cast(x, DType::Int32) : x; }

Value extreme(Emit& g, std::string_view op, Value x, const MaybeInts& dims, bool keepdim) {
  return red::extreme(g, op, ordered(g, x), dims, keepdim);
}

// The first place of the extreme along an axis, which a NaN is in both directions.
Value place_along(Emit& g, std::string_view op, Value x, int64_t axis, bool keepdim) {
  const ir::Attributes attributes{{"axis", axis}, {"keepdims", int64_t{keepdim}}};
  Value at = g.node(op, {x}, attributes);
  if (!is_float(g.dtype(x))) return at;
  Value nans = g.cast(g.node("IsNaN", {x}), DType::Int32);
  Value any = g.node("ReduceMax", {nans, g.i64s({axis})}, {{"keepdims", int64_t{keepdim}}});
  return pw::where(g, pw::to_bool(g, any), g.node("ArgMax", {nans}, attributes), at);
}

// Without an axis the place is that in the flattened tensor.
Value place(Emit& g, std::string_view op, Value x, const std::optional<int64_t>& dim,
            bool keepdim) {
  x = ordered(g, x);
  if (dim && g.rank(x) > 0) return place_along(g, op, x, g.axis(x, *dim), keepdim);
  Value at = place_along(g, op, g.node("Reshape", {x, g.i64s({-1})}), 0, false);
  if (!keepdim || g.rank(x) == 0) return at;
  return g.node("Reshape", {at, g.i64s(Ints(static_cast<size_t>(g.rank(x)), 1))});
}

template <FixedString Reduce, FixedString Arg>
constexpr auto extreme_and_place = [](Emit& g, Value x, int64_t dim, bool keepdim) {
  return Values{extreme(g, Reduce.view(), x, Ints{dim}, keepdim),
                place(g, Arg.view(), x, dim, keepdim)};
};
template <FixedString Op>
constexpr auto extreme_of_all =
    [](Emit& g, Value x) { return extreme(g, Op.view(), x, std::nullopt, false); };
template <FixedString Op>
constexpr auto extreme_over = [](Emit& g, Value x, const Ints& dims, bool keepdim) {
  return extreme(g, Op.view(), x, dims, keepdim);
};
template <FixedString Op>
constexpr auto place_of = [](Emit& g, Value x, std::optional<int64_t> dim, bool keepdim) {
  return place(g, Op.view(), x, dim, keepdim);
};

Values aminmax(Emit& g, Value x, const std::optional<int64_t>& dim, bool keepdim) {
  const MaybeInts dims = dim ? MaybeInts(Ints{*dim}) : std::nullopt;
  return {extreme(g, "ReduceMin", x, dims, keepdim), extreme(g, "ReduceMax", x, dims, keepdim)};
}

Value count_true(Emit& g, Value condition, const MaybeInts& dims, bool keepdim) {
  return reduce(g, "ReduceSum", g.cast(condition, DType::Int64), dims, keepdim);
}

// Counts make the empty cases right: any of nothing is false, all of nothing is true.
Value any(Emit& g, Value x, const MaybeInts& dims, bool keepdim) {
  return pw::to_bool(g, count_true(g, pw::to_bool(g, x), dims, keepdim));
}
Value all(Emit& g, Value x, const MaybeInts& dims, bool keepdim) {
  Value wrong = count_true(g, pw::no(g, pw::to_bool(g, x)), dims, keepdim);
  return g.node("Equal", {wrong, g.i64(0)});
}
template <Value (*F)(Emit&, Value, const MaybeInts&, bool)>
constexpr auto truth_of_all = [](Emit& g, Value x) { return F(g, x, std::nullopt, false); };
template <Value (*F)(Emit&, Value, const MaybeInts&, bool)>
constexpr auto truth_over =
    [](Emit& g, Value x, int64_t dim, bool keepdim) { return F(g, x, Ints{dim}, keepdim); };
template <Value (*F)(Emit&, Value, const MaybeInts&, bool)>
constexpr auto truth_over_list = [](Emit& g, Value x, const MaybeInts& dims, bool keepdim) {
  // An empty list reduces nothing where None reduces everything.
  if (dims && dims->empty()) return pw::to_bool(g, x);
  return F(g, x, dims, keepdim);
};

Value nan_as_zero(Emit& g, Value x) {
  if (!is_float(g.dtype(x))) return x;
  return pw::where(g, g.node("IsNaN", {x}), pw::num(g, 0, x), x);
}
Value nansum(Emit& g, Value x, const MaybeInts& dims, bool keepdim, Skip) {
  return reduce(g, "ReduceSum", g.cast(nan_as_zero(g, x), g.result_dtype()), dims, keepdim);
}
Value nanmean(Emit& g, Value x, const MaybeInts& dims, bool keepdim, Skip) {
  Value numbers = pw::no(g, g.node("IsNaN", {x}));
  Value n = g.cast(count_true(g, numbers, dims, keepdim), g.result_dtype());
  return pw::div(g, nansum(g, x, dims, keepdim, {}), n);
}

// Of one shape and with the same elements; shapes are not broadcast.
Value equal(Emit& g, Value a, Value b) {
  if (g.rank(a) != g.rank(b)) return g.boolean(false);
  bool one_shape = true;
  for (int64_t i = 0; i < g.rank(a); ++i) one_shape = one_shape && shape::same_dim(a, i, b, i);
  auto [x, y] = comparison(g, a, b, false);
  if (one_shape) return all(g, g.node("Equal", {x, y}), std::nullopt, false);
  Value sizes = g.node("Equal", {g.shape(a), g.shape(b)});
  x = shape::flat(g, x);
  y = shape::flat(g, y);
  const Int common = shape::min(g, shape::dim(g, x, 0), shape::dim(g, y, 0));
  Value elements = g.node("Equal", {shape::cut(g, x, 0, shape::known(0), common),
                                    shape::cut(g, y, 0, shape::known(0), common)});
  return g.node("And", {all(g, shape::with_rank(sizes, 1), std::nullopt, false),
                        all(g, shape::with_rank(elements, 1), std::nullopt, false)});
}

constexpr Lowering table[] = {
    op("aten::sum(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, Skip) { return sum(g, x, std::nullopt, false, {}); }),
    op<sum>("aten::sum.dim_IntList(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? "
            "dtype=None) -> Tensor"),
    op("aten::mean(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, Skip) { return mean(g, x, std::nullopt, false, {}); }),
    op<mean>(
        "aten::mean.dim(Tensor self, int[1]? dim, bool keepdim=False, *, ScalarType? dtype=None) "
        "-> Tensor"),
    op("aten::prod(Tensor self, *, ScalarType? dtype=None) -> Tensor",
       [](Emit& g, Value x, Skip) { return product(g, x, std::nullopt, false); }),
    op("aten::prod.dim_int(Tensor self, int dim, bool keepdim=False, *, ScalarType? dtype=None) "
       "-> Tensor",
       [](Emit& g, Value x, int64_t dim, bool keepdim, Skip) {
         return product(g, x, Ints{dim}, keepdim);
       }),
    op("aten::max(Tensor self) -> Tensor", extreme_of_all<"ReduceMax">),
    op("aten::min(Tensor self) -> Tensor", extreme_of_all<"ReduceMin">),
    op("aten::amax(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       extreme_over<"ReduceMax">),
    op("aten::amin(Tensor self, int[1] dim=[], bool keepdim=False) -> Tensor",
       extreme_over<"ReduceMin">),
    op("aten::max.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
       "indices)",
       extreme_and_place<"ReduceMax", "ArgMax">),
    op("aten::min.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor "
       "indices)",
       extreme_and_place<"ReduceMin", "ArgMin">),
    op<aminmax>(
        "aten::aminmax(Tensor self, *, int? dim=None, bool keepdim=False) -> (Tensor min, Tensor "
        "max)"),
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
    op("aten::is_nonzero(Tensor self) -> bool",
       [](Emit& g, Value x) {
         return g.node("Reshape", {pw::to_bool(g, x), g.i64s({})});
       }),
    op("aten::equal(Tensor self, Tensor other) -> bool",
       [](Emit& g, Value a, Value b) { return equal(g, a, b); }),
    op("aten::count_nonzero(Tensor self, int? dim=None) -> Tensor",
       [](Emit& g, Value x, std::optional<int64_t> dim) {
         return count_true(g, pw::to_bool(g, x), dim ? MaybeInts(Ints{*dim}) : std::nullopt, false);
       }),
    op("aten::count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor",
       [](Emit& g, Value x, const Ints& dims) {
         return count_true(g, pw::to_bool(g, x), dims, false);
       }),
    op<nansum>("aten::nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
               "dtype=None) -> Tensor"),
    op<nanmean>("aten::nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? "
                "dtype=None) -> Tensor"),
};

}  // namespace

Table reduce_rows() { return table; }

}  // namespace oe::lower
