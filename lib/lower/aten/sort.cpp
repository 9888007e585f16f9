// Order along an axis: sort, topk, kthvalue, medians, quantiles and mode.
// https://onnx.ai/onnx/operators/onnx__TopK.html (equal values keep their order)
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

struct Ranked {
  T values, indices;
};

// The k largest or smallest entries of an axis in order. x has at least one axis.
Ranked top(Call& g, T x, const Int& k, int64_t axis, bool largest) {
  const DType t = x.dtype();
  T in = t == DType::Bool ? cast(x, DType::Int32) : x;
  Values y = nodes("TopK", {in, g.vector({k})},
                   {{"axis", axis}, {"largest", int64_t{largest}}, {"sorted", int64_t{1}}}, 2);
  std::vector<Dim> dims = *x->type.shape;
  dims[static_cast<size_t>(axis)] = dim_of(k);
  return {with_dims(cast(y[0], t), dims), with_dims(y[1], dims)};
}

// Rows of 0-d tensors work on one element and give 0-d results.
Values as_given(T x, const Ranked& r) {
  if (x.rank() > 0) return {r.values, r.indices};
  return {to_0d(r.values), to_0d(r.indices)};
}

Values sort(Call& g, T x, Axis axis, bool descending) {
  T v = at_least_1d(x);
  return as_given(x, top(g, v, size_of(v, axis), axis, descending));
}
Values stable_sort(Call& g, T x, Skip, Axis axis, bool descending) {
  return sort(g, x, axis, descending);
}
T argsort(Call& g, T x, Axis axis, bool descending) { return sort(g, x, axis, descending)[1]; }
T stable_argsort(Call& g, T x, Skip, Axis axis, bool descending) {
  return sort(g, x, axis, descending)[1];
}

Values topk(Call& g, T x, const Int& k, Axis axis, bool largest, Rest) {
  return as_given(x, top(g, at_least_1d(x), k, axis, largest));
}

// The last of the k smallest.
Ranked kth(Call& g, T x, const Int& k, int64_t axis) {
  const Ranked r = top(g, x, k, axis, false);
  return {entry(r.values, axis, known(-1)), entry(r.indices, axis, known(-1))};
}

Values kept(T x, Ranked r, int64_t axis, bool keepdim) {
  if (keepdim && x.rank() > 0) r = {unsqueeze(r.values, {axis}), unsqueeze(r.indices, {axis})};
  return {r.values, r.indices};
}

Values kthvalue(Call& g, T x, const Int& k, Axis axis, bool keepdim) {
  return kept(x, kth(g, at_least_1d(x), k, axis), axis, keepdim);
}

T reduced(Call& g, std::string_view op, T x, int64_t axis) {
  T y = node(op, {x, g.i64s({axis})}, {{"keepdims", int64_t{0}}});
  return with_rank(y, x.rank() - 1);
}

// The lower one of the two in the middle; a NaN anywhere is the median, and the first one counts.
Ranked median(Call& g, T x, int64_t axis) {
  const Int below = size_of(x, axis) - known(1);
  Ranked r = kth(g, x, floor_div(below, 2) + known(1), axis);
  if (!is_float(x.dtype())) return r;
  T nans = with_dims(cast(is_nan(x), DType::Int32), *x->type.shape);
  T any = cast(reduced(g, "ReduceMax", nans, axis), DType::Bool);
  T first = node("ArgMax", {nans}, {{"axis", axis}, {"keepdims", int64_t{0}}});
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const int64_t rank = x.rank() - 1;
  return {with_rank(where(any, nan, r.values), rank),
          with_rank(where(any, first, r.indices), rank)};
}

// NaNs are sorted to the end, the middle is that of the others.
Ranked nan_median(Call& g, T x, int64_t axis) {
  const DType t = x.dtype();
  if (!is_float(t)) return median(g, x, axis);
  const double inf = std::numeric_limits<double>::infinity();
  T nan = is_nan(x);
  T clean = with_dims(where(nan, inf, x), *x->type.shape);
  const Ranked r = top(g, clean, size_of(x, axis), axis, false);
  T valid = with_dims(cast(~nan, DType::Int64), *x->type.shape);
  T count = node("ReduceSum", {valid, g.i64s({axis})}, {{"keepdims", int64_t{1}}});
  T at = maximum(count - 1, 0) / 2;
  auto pick = [&](T v) {
    T y = node("GatherElements", {v, at}, {{"axis", axis}});
    return squeeze(with_rank(y, x.rank()), {axis});
  };
  T none = equal(count, 0);
  none = squeeze(with_rank(none, x.rank()), {axis});
  T value = where(none, std::numeric_limits<double>::quiet_NaN(), pick(r.values));
  return {with_rank(value, x.rank() - 1), pick(r.indices)};
}

using Middle = Ranked (*)(Call&, T, int64_t);

template <Middle F>
Values along_axis(Call& g, T x, Axis axis, bool keepdim) {
  return kept(x, F(g, at_least_1d(x), axis), axis, keepdim);
}
template <Middle F>
T of_all(Call& g, T x) {
  return F(g, flat(x), 0).values;
}

// Entries at the ranks q * (n - 1) of each sorted row [.., n] -> [.., Q], between two of them
// interpolated. A NaN in a row is its result, or is passed over.
T quantiles_of_rows(Call& g, T x, T q, const std::string& between, bool skip_nan) {
  const DType t = x.dtype();
  const int64_t last = x.rank() - 1;
  const double inf = std::numeric_limits<double>::infinity();
  const Int n = size_of(x, last);
  T nans = with_dims(is_nan(x), *x->type.shape);
  T clean = with_dims(where(nans, inf, x), *x->type.shape);
  T sorted = top(g, clean, n, last, false).values;
  T numbers = cast(~nans, DType::Int32);
  T count = node("ReduceSum", {numbers, g.i64s({last})}, {{"keepdims", int64_t{1}}});
  T length = skip_nan ? cast(count, t) : cast(g.value(n), t);
  T ranks = q * (length - 1);
  if (skip_nan) ranks = maximum(ranks, 0);
  if (between == "nearest") ranks = unary("Round", ranks);
  auto pick = [&](T rank) {
    const ir::Attributes axis{{"axis", last}};
    return node(skip_nan ? "GatherElements" : "Gather", {sorted, cast(rank, DType::Int64)}, axis);
  };
  T below = floor(ranks);
  T y = pick(between == "higher" ? ceil(ranks) : below);
  if (between == "linear" || between == "midpoint") {
    T w = between == "linear" ? ranks - below : g.number(0.5, t);
    T above = pick(ceil(ranks)), step = above - y;
    T near_above = above - step * (1 - w);
    y = where(w < 0.5, y + w * step, near_above);
  }
  T whole = skip_nan ? g.integer(0, DType::Int32) : cast(g.value(n), DType::Int32);
  T undefined = equal(count, whole);
  if (!skip_nan) undefined = ~undefined;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  return with_rank(where(undefined, nan, y), last + 1);
}

// One q gives the reduced shape, several ones a first axis.
template <bool SkipNan>
T quantile(Call& g, T x, T q, const std::optional<Axis>& dim, bool keepdim,
           const std::string& between) {
  const int64_t rank = x.rank(), many = q.rank() > 0 ? 1 : 0;
  T v = dim ? at_least_1d(x) : flat(x);
  const int64_t axis = dim ? *dim : 0, last = v.rank() - 1;
  q = cast(q, x.dtype());
  Ints order = range(0, last + 1);
  order.erase(order.begin() + axis);
  order.push_back(axis);
  if (!many) q = unsqueeze(q, {0});
  T y = quantiles_of_rows(g, transpose(v, order), q, between, SkipNan);
  Ints front = range(0, last);
  front.insert(front.begin(), last);
  y = many ? transpose(y, front) : squeeze(y, {last});
  if (!keepdim || rank == 0) return y;
  return unsqueeze(y, dim ? Ints{axis + many} : range(many, many + rank));
}

// The most frequent value, the smallest one of several; the index is that of its last occurrence.
Ranked mode(Call& g, T x, int64_t axis) {
  const int64_t rank = x.rank();
  Ints last = range(0, rank);
  last.erase(last.begin() + axis);
  last.push_back(axis);
  T v = transpose(x, last);
  T same = cast(equal(unsqueeze(v, {rank}), unsqueeze(v, {rank - 1})), DType::Int64);
  T count = reduced(g, "ReduceSum", same, rank);
  T most = node("ReduceMax", {count, g.i64s({rank - 1})}, {{"keepdims", int64_t{1}}});
  T frequent = equal(count, most);
  // Among the frequent ones: sorted first by value. Others are moved behind all values.
  const Ranked sorted = top(g, v, size_of(v, rank - 1), rank - 1, false);
  T flags =
      node("GatherElements", {cast(frequent, DType::Int32), sorted.indices}, {{"axis", rank - 1}});
  T first = node("ArgMax", {flags}, {{"axis", rank - 1}, {"keepdims", int64_t{1}}});
  T value = node("GatherElements", {sorted.values, first}, {{"axis", rank - 1}});
  T places = g.iota(size_of(v, rank - 1));
  T hits = where(equal(v, value), places, -1);
  return {squeeze(with_rank(value, rank), {rank - 1}),
          reduced(g, "ReduceMax", with_rank(hits, rank), rank - 1)};
}

constexpr Lowering table[] = {
    op<sort>(
        "aten::sort(Tensor self, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"),
    op<stable_sort>(
        "aten::sort.stable(Tensor self, *, bool? stable, int dim=-1, bool descending=False) -> (Tensor values, Tensor indices)"),
    op<argsort>("aten::argsort(Tensor self, int dim=-1, bool descending=False) -> Tensor"),
    op<stable_argsort>(
        "aten::argsort.stable(Tensor self, *, bool stable, int dim=-1, bool descending=False) -> Tensor"),
    op("aten::msort(Tensor self) -> Tensor",
       [](Call& g, T x) { return sort(g, x, {0}, false)[0]; }),
    op<topk>(
        "aten::topk(Tensor self, SymInt k, int dim=-1, bool largest=True, bool sorted=True) -> (Tensor values, Tensor indices)"),
    op<kthvalue>(
        "aten::kthvalue(Tensor self, SymInt k, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    op<of_all<median>>("aten::median(Tensor self) -> Tensor"),
    op<along_axis<median>>(
        "aten::median.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    op<of_all<nan_median>>("aten::nanmedian(Tensor self) -> Tensor"),
    op<along_axis<nan_median>>(
        "aten::nanmedian.dim(Tensor self, int dim, bool keepdim=False) -> (Tensor values, Tensor indices)"),
    op<quantile<false>>(
        "aten::quantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"),
    op<quantile<false>>(
        "aten::quantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"),
    op<quantile<true>>(
        "aten::nanquantile(Tensor self, Tensor q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"),
    op<quantile<true>>(
        "aten::nanquantile.scalar(Tensor self, float q, int? dim=None, bool keepdim=False, *, str interpolation=\"linear\") -> Tensor"),
    op<along_axis<mode>>(
        "aten::mode(Tensor self, int dim=-1, bool keepdim=False) -> (Tensor values, Tensor indices)"),
};

}  // namespace

Table sort_rows() { return table; }

}  // namespace oe::lower
