// Order along an axis: sort, topk, kthvalue, medians, quantiles and mode.
// https://onnx.ai/onnx/operators/onnx__TopK.html (equal values keep their order)
#include <limits>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

struct Ranked {
  Value values, indices;
};

// The k largest or smallest entries of an axis in order. x has at least one axis.
Ranked top(Emit& g, Value x, const Int& k, int64_t axis, bool largest) {
  const DType t = g.dtype(x);
  Value in = t == DType::Bool ? g.cast(x, DType::Int32) : x;
  Values y = g.nodes("TopK", {in, g.to_vector({k})},
                     {{"axis", axis}, {"largest", int64_t{largest}}, {"sorted", int64_t{1}}}, 2);
  std::vector<Dim> dims = *x->type.shape;
  dims[static_cast<size_t>(axis)] = k.known ? Dim::of(*k.known) : Dim::unknown();
  return {with_dims(g.cast(y[0], t), dims), with_dims(y[1], dims)};
}

// Rows of 0-d tensors work on one element and give 0-d results.
Values as_given(Emit& g, Value x, const Ranked& r) {
  if (g.rank(x) > 0) return {r.values, r.indices};
  return {to_0d(g, r.values), to_0d(g, r.indices)};
}

Values sort(Emit& g, Value x, int64_t dim, bool descending) {
  const int64_t axis = g.axis(x, dim);
  Value v = at_least_1d(g, x);
  return as_given(g, x, top(g, v, nn::dim(g, v, axis), axis, descending));
}

Values topk(Emit& g, Value x, const Int& k, int64_t dim, bool largest) {
  return as_given(g, x, top(g, at_least_1d(g, x), k, g.axis(x, dim), largest));
}

// The last of the k smallest.
Ranked kth(Emit& g, Value x, const Int& k, int64_t axis) {
  const Ranked r = top(g, x, k, axis, false);
  return {entry(g, r.values, axis, known(-1)), entry(g, r.indices, axis, known(-1))};
}

Values kept(Emit& g, Value x, Ranked r, int64_t axis, bool keepdim) {
  if (keepdim && g.rank(x) > 0)
    r = {unsqueezed(g, r.values, {axis}), unsqueezed(g, r.indices, {axis})};
  return {r.values, r.indices};
}

Values kthvalue(Emit& g, Value x, const Int& k, int64_t dim, bool keepdim) {
  const int64_t axis = g.axis(x, dim);
  return kept(g, x, kth(g, at_least_1d(g, x), k, axis), axis, keepdim);
}

Value reduced(Emit& g, std::string_view op, Value x, int64_t axis) {
  Value y = g.node(op, {x, g.i64s({axis})}, {{"keepdims", int64_t{0}}});
  return with_rank(y, g.rank(x) - 1);
}

// The lower one of the two in the middle; a NaN anywhere is the median, and the first one counts.
Ranked median(Emit& g, Value x, int64_t axis) {
  const Int below = sub(g, nn::dim(g, x, axis), known(1));
  Ranked r = kth(g, x, add(g, floor_div(g, below, 2), known(1)), axis);
  if (!is_float(g.dtype(x))) return r;
  Value nans = with_dims(g.cast(g.node("IsNaN", {x}), DType::Int32), *x->type.shape);
  Value any = g.cast(reduced(g, "ReduceMax", nans, axis), DType::Bool);
  Value first = g.node("ArgMax", {nans}, {{"axis", axis}, {"keepdims", int64_t{0}}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int64_t rank = g.rank(x) - 1;
  return {with_rank(where(g, any, g.number(nan, g.dtype(x)), r.values), rank),
          with_rank(where(g, any, first, r.indices), rank)};
}

// NaNs are sorted to the end, the middle is that of the others.
Ranked nan_median(Emit& g, Value x, int64_t axis) {
  const DType t = g.dtype(x);
  if (!is_float(t)) return median(g, x, axis);
  const double inf = std::numeric_limits<double>::infinity();
  Value nan = g.node("IsNaN", {x});
  Value clean = with_dims(where(g, nan, g.number(inf, t), x), *x->type.shape);
  const Ranked r = top(g, clean, nn::dim(g, x, axis), axis, false);
  Value valid = with_dims(g.cast(g.node("Not", {nan}), DType::Int64), *x->type.shape);
  Value count = g.node("ReduceSum", {valid, g.i64s({axis})}, {{"keepdims", int64_t{1}}});
  Value at = div(g, g.node("Max", {sub(g, count, g.i64(1)), g.i64(0)}), g.i64(2));
  auto pick = [&](Value v) {
    Value y = g.node("GatherElements", {v, at}, {{"axis", axis}});
    return squeezed(g, with_rank(y, g.rank(x)), {axis});
  };
  Value none = g.node("Equal", {count, g.i64(0)});
  none = squeezed(g, with_rank(none, g.rank(x)), {axis});
  Value value = where(g, none, num(g, std::numeric_limits<double>::quiet_NaN(), x), pick(r.values));
  return {with_rank(value, g.rank(x) - 1), pick(r.indices)};
}

using Middle = Ranked (*)(Emit&, Value, int64_t);

template <Middle F>
Values along_dim(Emit& g, Value x, int64_t dim, bool keepdim) {
  const int64_t axis = g.axis(x, dim);
  return kept(g, x, F(g, at_least_1d(g, x), axis), axis, keepdim);
}

// Entries at the ranks q * (n - 1) of each sorted row [.., n] -> [.., Q], between two of them
// interpolated. A NaN in a row is its result, or is passed over.
Value quantiles_of_rows(Emit& g, Value x, Value q, const std::string& between, bool skip_nan) {
  const DType t = g.dtype(x);
  const int64_t last = g.rank(x) - 1;
  const double inf = std::numeric_limits<double>::infinity();
  const Int n = nn::dim(g, x, last);
  Value nans = with_dims(g.node("IsNaN", {x}), *x->type.shape);
  Value clean = with_dims(where(g, nans, g.number(inf, t), x), *x->type.shape);
  Value sorted = top(g, clean, n, last, false).values;
  Value numbers = g.cast(g.node("Not", {nans}), DType::Int32);
  Value count = g.node("ReduceSum", {numbers, g.i64s({last})}, {{"keepdims", int64_t{1}}});
  Value length = skip_nan ? g.cast(count, t) : g.cast(g.to_value(n), t);
  Value ranks = mul(g, q, sub(g, length, g.number(1, t)));
  if (skip_nan) ranks = g.node("Max", {ranks, g.number(0, t)});
  if (between == "nearest") ranks = g.node("Round", {ranks});
  auto pick = [&](Value rank) {
    const ir::Attributes axis{{"axis", last}};
    return g.node(skip_nan ? "GatherElements" : "Gather", {sorted, g.cast(rank, DType::Int64)},
                  axis);
  };
  Value floor = g.node("Floor", {ranks});
  Value y = pick(between == "higher" ? g.node("Ceil", {ranks}) : floor);
  if (between == "linear" || between == "midpoint") {
    Value w = between == "linear" ? sub(g, ranks, floor) : g.number(0.5, t);
    Value above = pick(g.node("Ceil", {ranks})), step = sub(g, above, y);
    Value near_above = sub(g, above, mul(g, step, sub(g, g.number(1, t), w)));
    y = where(g, g.node("Less", {w, g.number(0.5, t)}), add(g, y, mul(g, w, step)), near_above);
  }
  Value whole = skip_nan ? g.integer(0, DType::Int32) : g.cast(g.to_value(n), DType::Int32);
  Value undefined = g.node("Equal", {count, whole});
  if (!skip_nan) undefined = g.node("Not", {undefined});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return with_rank(where(g, undefined, g.number(nan, t), y), last + 1);
}

// One q gives the reduced shape, several ones a first axis.
Value quantile(Emit& g, Value x, Value q, const std::optional<int64_t>& dim, bool keepdim,
               const std::string& between, bool skip_nan) {
  const int64_t rank = g.rank(x), many = g.rank(q) > 0 ? 1 : 0;
  Value v = dim ? at_least_1d(g, x) : flat(g, x);
  const int64_t axis = dim ? g.axis(x, *dim) : 0, last = g.rank(v) - 1;
  Ints order = range(0, last + 1);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  if (!many) q = unsqueezed(g, q, {0});
  Value y = quantiles_of_rows(g, permuted(g, v, order), q, between, skip_nan);
  Ints front = range(0, last);
  front.insert(front.begin(), last);
  y = many ? permuted(g, y, front) : squeezed(g, y, {last});
  if (!keepdim || rank == 0) return y;
  return unsqueezed(g, y, dim ? Ints{axis + many} : range(many, many + rank));
}

template <bool SkipNan>
constexpr auto quantile_tensor =
    [](Emit& g, Value x, Value q, std::optional<int64_t> dim, bool keepdim,
       const std::string& between) { return quantile(g, x, q, dim, keepdim, between, SkipNan); };
template <bool SkipNan>
constexpr auto quantile_number = [](Emit& g, Value x, double q, std::optional<int64_t> dim,
                                    bool keepdim, const std::string& between) {
  return quantile(g, x, g.number(q, g.dtype(x)), dim, keepdim, between, SkipNan);
};

// The most frequent value, the smallest one of several; the index is that of its last occurrence.
Ranked mode(Emit& g, Value x, int64_t axis) {
  const int64_t rank = g.rank(x);
  Ints last = range(0, rank);
  last.erase(last.begin() + axis);
  last.push_back(axis);
  Value v = permuted(g, x, last);
  Value equal = g.node("Equal", {unsqueezed(g, v, {rank}), unsqueezed(g, v, {rank - 1})});
  Value same = with_rank(g.cast(equal, DType::Int64), rank + 1);
  Value count = reduced(g, "ReduceSum", same, rank);
  Value most = g.node("ReduceMax", {count, g.i64s({rank - 1})}, {{"keepdims", int64_t{1}}});
  Value frequent = g.node("Equal", {count, most});
  // Among the frequent ones: sorted first by value. Others are moved behind all values.
  const Ranked sorted = top(g, v, nn::dim(g, v, rank - 1), rank - 1, false);
  Value flags = g.node("GatherElements", {g.cast(frequent, DType::Int32), sorted.indices},
                       {{"axis", rank - 1}});
  Value first = g.node("ArgMax", {flags}, {{"axis", rank - 1}, {"keepdims", int64_t{1}}});
  Value value = g.node("GatherElements", {sorted.values, first}, {{"axis", rank - 1}});
  Value places = iota(g, nn::dim(g, v, rank - 1));
  Value hits = where(g, g.node("Equal", {v, value}), places, g.i64(-1));
  return {squeezed(g, with_rank(value, rank), {rank - 1}),
          reduced(g, "ReduceMax", with_rank(hits, rank), rank - 1)};
}

constexpr auto sort_lambda = [](Emit& g, Value x, int64_t dim, bool descending) {
  return sort(g, x, dim, descending);
};
constexpr auto stable_lambda = [](Emit& g, Value x, Skip, int64_t dim, bool descending) {
  return sort(g, x, dim, descending);
};

constexpr Lowering table[] = {
    op("aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       sort_lambda),
    op("aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)",
       stable_lambda),
    op("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor",
       [](Emit& g, Value x, int64_t dim, bool descending) {
         return sort(g, x, dim, descending)[1];
       }),
    op("aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor",
       [](Emit& g, Value x, Skip, int64_t dim, bool descending) {
         return sort(g, x, dim, descending)[1];
       }),
    op("aten::msort(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return sort(g, x, 0, false)[0]; }),
    op("aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)",
       [](Emit& g, Value x, Int k, int64_t dim, bool largest, Skip) {
         return topk(g, x, k, dim, largest);
       }),
    op("aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       [](Emit& g, Value x, Int k, int64_t dim, bool keepdim) {
         return kthvalue(g, x, k, dim, keepdim);
       }),
    op("aten::median(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return median(g, flat(g, x), 0).values; }),
    op("aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       [](Emit& g, Value x, int64_t dim, bool keepdim) {
         return along_dim<median>(g, x, dim, keepdim);
       }),
    op("aten::nanmedian(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return nan_median(g, flat(g, x), 0).values; }),
    op("aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)",
       [](Emit& g, Value x, int64_t dim, bool keepdim) {
         return along_dim<nan_median>(g, x, dim, keepdim);
       }),
    op("aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       quantile_tensor<false>),
    op("aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       quantile_number<false>),
    op("aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       quantile_tensor<true>),
    op("aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor",
       quantile_number<true>),
    op("aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)",
       [](Emit& g, Value x, int64_t dim, bool keepdim) {
         return along_dim<mode>(g, x, dim, keepdim);
       }),
};

}  // namespace

Table sort_rows() { return table; }

}  // namespace oe::lower
