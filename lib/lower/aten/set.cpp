// Tensors as sets and tables: unique, searchsorted, isin, bincount, histc.
// https://onnx.ai/onnx/operators/onnx__Unique.html
#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

// Results that were not asked for are tensors without elements.
Value not_asked(Emit& g) { return g.i64s({}); }

// --- unique

struct Distinct {
  Value values, inverse, counts;  // inverse and counts are 1-d
};

// Sorted; over the flat elements without an axis.
Distinct distinct(Emit& g, Value x, std::optional<int64_t> axis) {
  const DType t = g.dtype(x);
  const bool direct = t == DType::Float || t == DType::Double || t == DType::Int64;
  ir::Attributes a{{"sorted", int64_t{1}}};
  if (axis) a.set("axis", *axis);
  Value in = direct ? x : g.cast(x, is_float(t) ? DType::Float : DType::Int64);
  const Values y = g.nodes("Unique", {in}, std::move(a), 4);
  return {with_rank(g.cast(y[0], t), axis ? g.rank(x) : 1), with_rank(y[2], 1), with_rank(y[3], 1)};
}

// Only equal neighbours are made one.
Distinct runs(Emit& g, Value x, std::optional<int64_t> axis) {
  const int64_t along = axis.value_or(0);
  Value line = x;
  if (!axis) {
    x = line = flat(g, x);
  } else if (g.rank(x) > 1) {
    Ints perm{along};
    Int others = known(1);
    for (int64_t i = 0; i < g.rank(x); ++i) {
      if (i == along) continue;
      perm.push_back(i);
      others = mul(g, others, dim(g, x, i));
    }
    line = reshape_to(g, permuted(g, x, perm), {others}, 1);
  }
  Value same = g.node(
      "Equal", {cut(g, line, 0, known(1), known(kEnd)), cut(g, line, 0, known(0), known(-1))});
  if (g.rank(line) == 2) {
    same =
        g.node("ReduceMin", {g.cast(same, DType::Int32), g.i64s({1})}, {{"keepdims", int64_t{0}}});
    same = g.cast(same, DType::Bool);
  }
  const Int size = dim(g, x, along);
  Value starts =
      concat(g, {g.tensor(Tensor::of<uint8_t>(DType::Bool, {1}, {1})), g.node("Not", {same})}, 0);
  starts = cut(g, with_rank(starts, 1), 0, known(0), size);  // no run in an empty axis
  Value number = g.node("CumSum", {g.cast(starts, DType::Int64), g.i64(0)});
  Value at = entry(g, with_rank(g.node("NonZero", {starts}), 2), 0, known(0));
  Value ends = concat(g, {cut(g, at, 0, known(1), known(kEnd)), g.to_vector({size})}, 0);
  // An empty axis has no end either.
  ends = cut(g, with_rank(ends, 1), 0, known(0), dim(g, at, 0));
  return {with_rank(g.node("Compress", {x, starts}, {{"axis", along}}), g.rank(x)),
          with_rank(sub(g, number, g.i64(1)), 1), with_rank(sub(g, ends, at), 1)};
}

Values results(Emit& g, const Distinct& d, Value inverse, bool want_inverse, bool want_counts) {
  return {d.values, want_inverse ? inverse : not_asked(g), want_counts ? d.counts : not_asked(g)};
}

Value inverse_like(Emit& g, Value inverse, Value x) {
  return g.rank(x) == 0 ? to_0d(g, inverse) : restore(g, inverse, x);
}

Values unique(Emit& g, Value x, bool inverse, bool counts) {
  const Distinct d = distinct(g, x, std::nullopt);
  return results(g, d, inverse_like(g, d.inverse, x), inverse, counts);
}

Values unique_dim(Emit& g, Value x, int64_t dim, bool inverse, bool counts) {
  const Distinct d = distinct(g, x, g.axis(x, dim));
  return results(g, d, d.inverse, inverse, counts);
}

Values unique_runs(Emit& g, Value x, std::optional<int64_t> dim, bool inverse, bool counts) {
  if (dim) {
    const Distinct d = runs(g, x, g.axis(x, *dim));
    return results(g, d, d.inverse, inverse, counts);
  }
  const Distinct d = runs(g, x, std::nullopt);
  return results(g, d, inverse_like(g, d.inverse, x), inverse, counts);
}

// --- searching

DType common(Emit& g, Value a, Value b) {
  if (g.dtype(a) == g.dtype(b)) return g.dtype(a);
  return is_float(g.dtype(a)) || is_float(g.dtype(b)) ? DType::Double : DType::Int64;
}

// How many entries of the sorted last axis are below v (left), or not above it (right).
Value count_below(Emit& g, Value sorted, Value v, bool right) {
  const int64_t rank = g.rank(v);
  const DType t = common(g, sorted, v);
  Value row = g.cast(sorted, t), column = unsqueezed(g, g.cast(v, t), {rank});
  if (g.rank(sorted) > 1) row = unsqueezed(g, row, {g.rank(sorted) - 1});
  Value counted =
      right ? g.node("Not", {g.node("Less", {column, row})}) : g.node("Less", {row, column});
  Value y = g.node("ReduceSum", {g.cast(counted, DType::Int64), g.i64s({rank})},
                   {{"keepdims", int64_t{0}}});
  return with_rank(y, rank);
}

Value searchsorted(Emit& g, Value sorted, Value v, bool right,
                   const std::optional<std::string>& side, const std::optional<Value>& sorter) {
  if (sorter) {
    Value y = g.node("GatherElements", {sorted, *sorter}, {{"axis", g.rank(sorted) - 1}});
    sorted = with_dims(y, *sorted->type.shape);
  }
  return count_below(g, sorted, v, right || side == "right");
}

// A number takes the tensor's type, but a float beside integers makes both float.
Value number_beside(Emit& g, const Scalar& s, Value tensor) {
  const DType t = g.dtype(tensor);
  return g.scalar(s, s.kind == Scalar::Kind::Float && !is_float(t) ? DType::Float : t);
}

// --- membership and counting

Value isin(Emit& g, Value x, Value test, bool invert) {
  const DType t = common(g, x, test);
  const int64_t rank = g.rank(x);
  Value equal = g.node("Equal", {unsqueezed(g, g.cast(x, t), {rank}), flat(g, g.cast(test, t))});
  Value hits = g.node("ReduceSum", {g.cast(equal, DType::Int32), g.i64s({rank})},
                      {{"keepdims", int64_t{0}}});
  Value in = with_rank(g.cast(hits, DType::Bool), rank);
  return invert ? g.node("Not", {in}) : in;
}

// How often each of [0, bins) occurs, or the weights of its occurrences.
Value table_of(Emit& g, Value x, const Int& bins, Value weights, DType t) {
  Value hit = g.node("Equal", {along(g, iota(g, bins), 0, 2), along(g, x, 1, 2)});
  Value amount = weights ? where(g, hit, g.cast(weights, t), g.integer(0, t)) : g.cast(hit, t);
  return with_rank(g.node("ReduceSum", {amount, g.i64s({1})}, {{"keepdims", int64_t{0}}}), 1);
}

Value bincount(Emit& g, Value x, const std::optional<Value>& weights, const Int& minlength) {
  Value v = g.cast(x, DType::Int64);
  // One entry below the smallest length asked for stands in for an empty input.
  Value floor = g.to_vector({sub(g, minlength, known(1))});
  Value highest = g.node("ReduceMax", {concat(g, {v, floor}, 0)}, {{"keepdims", int64_t{0}}});
  const Int bins = from_value(with_rank(add(g, highest, g.i64(1)), 0));
  return table_of(g, v, bins, weights.value_or(nullptr), g.result_dtype());
}

Value histc(Emit& g, Value x, int64_t bins, const Scalar& low, const Scalar& high) {
  const DType t = g.result_dtype();
  Value v = g.cast(flat(g, x), t);
  Value from = g.scalar(low, t), to = g.scalar(high, t);
  if (!low.known || !high.known) throw NotKnown(low.known ? "max" : "min", "the graph");
  if (low.d == high.d) {  // the range of the data, widened when that is one number
    from = g.node("ReduceMin", {v}, {{"keepdims", int64_t{0}}});
    to = g.node("ReduceMax", {v}, {{"keepdims", int64_t{0}}});
    Value flat_range = g.node("Equal", {from, to});
    from = where(g, flat_range, sub(g, from, num(g, 1, from)), from);
    to = where(g, flat_range, add(g, to, num(g, 1, to)), to);
  }
  Value place =
      div(g, mul(g, sub(g, v, from), g.number(static_cast<double>(bins), t)), sub(g, to, from));
  place = g.node("Floor", {place});
  // The upper end belongs to the last bin; what lies outside belongs to none.
  place = where(g, g.node("Equal", {v, to}), g.number(static_cast<double>(bins - 1), t), place);
  Value outside = g.node("Or", {g.node("Less", {v, from}), g.node("Less", {to, v})});
  place = where(g, outside, g.number(-1, t), place);
  return table_of(g, with_rank(g.cast(place, DType::Int64), 1), known(bins), nullptr, t);
}

constexpr Lowering table[] = {
    op("aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
       [](Emit& g, Value x, Skip, bool inverse) {
         Values all = unique(g, x, inverse, false);
         all.pop_back();
         return all;
       }),
    op("aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, Skip, bool inverse, bool counts) {
         return unique(g, x, inverse, counts);
       }),
    op("aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, int64_t dim, Skip, bool inverse, bool counts) {
         return unique_dim(g, x, dim, inverse, counts);
       }),
    op("aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, bool inverse, bool counts, std::optional<int64_t> dim) {
         return unique_runs(g, x, dim, inverse, counts);
       }),
    op("aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       [](Emit& g, Value x, int64_t dim, bool inverse, bool counts) {
         return unique_runs(g, x, dim, inverse, counts);
       }),
    op("aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
       [](Emit& g, Value sorted, Value v, Skip, bool right, std::optional<std::string> side,
          std::optional<Value> sorter) { return searchsorted(g, sorted, v, right, side, sorter); }),
    op("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
       [](Emit& g, Value sorted, Scalar v, Skip, bool right, std::optional<std::string> side,
          std::optional<Value> sorter) {
         return searchsorted(g, sorted, number_beside(g, v, sorted), right, side, sorter);
       }),
    op("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
       [](Emit& g, Value v, Value sorted, Skip, bool right) {
         return count_below(g, sorted, v, right);
       }),
    op("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
       [](Emit& g, Scalar v, Value sorted, Skip, bool right) {
         return count_below(g, sorted, number_beside(g, v, sorted), right);
       }),
    op("aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
       [](Emit& g, Value x, Value test, Skip, bool invert) { return isin(g, x, test, invert); }),
    op("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
       [](Emit& g, Value x, Scalar test, Skip, bool invert) {
         return isin(g, x, number_beside(g, test, x), invert);
       }),
    op("aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
       [](Emit& g, Scalar x, Value test, Skip, bool invert) {
         return isin(g, number_beside(g, x, test), test, invert);
       }),
    op("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor",
       [](Emit& g, Value x, std::optional<Value> weights, Int minlength) {
         return bincount(g, x, weights, minlength);
       }),
    op("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor",
       [](Emit& g, Value x, int64_t bins, Scalar low, Scalar high) {
         return histc(g, x, bins, low, high);
       }),
};

}  // namespace

Table set_rows() { return table; }

}  // namespace oe::lower
