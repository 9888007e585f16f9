// Tensors as sets and tables: unique, searchsorted, isin, bincount, histc.
// https://onnx.ai/onnx/operators/onnx__Unique.html
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Results that were not asked for are tensors without elements.
T not_asked(Call& g) { return g.i64s({}); }

// --- unique

struct Distinct {
  T values, inverse, counts;  // inverse and counts are 1-d
};

// Sorted; over the flat elements without an axis.
Distinct distinct(T x, const std::optional<Axis>& axis) {
  const DType t = x.dtype();
  const bool direct = t == DType::Float || t == DType::Double || t == DType::Int64;
  ir::Attributes a{{"sorted", int64_t{1}}};
  if (axis) a.set("axis", axis->value);
  T in = direct ? x : cast(x, is_float(t) ? DType::Float : DType::Int64);
  const Values y = nodes("Unique", {in}, std::move(a), 4);
  return {with_rank(cast(y[0], t), axis ? x.rank() : 1), with_rank(y[2], 1), with_rank(y[3], 1)};
}

// Only equal neighbours are made one.
Distinct runs(Call& g, T x, const std::optional<Axis>& axis) {
  const int64_t along = axis ? *axis : 0;
  T line = x;
  if (!axis) {
    x = line = flat(x);
  } else if (x.rank() > 1) {
    Ints perm{along};
    Int others = known(1);
    for (int64_t i = 0; i < x.rank(); ++i) {
      if (i == along) continue;
      perm.push_back(i);
      others = others * size_of(x, i);
    }
    line = reshape_to(transpose(x, perm), {others}, 1);
  }
  T same = equal(slice(line, 0, known(1), known(kEnd)), slice(line, 0, known(0), known(-1)));
  if (line.rank() == 2) {
    same = node("ReduceMin", {cast(same, DType::Int32), g.i64s({1})}, {{"keepdims", int64_t{0}}});
    same = cast(same, DType::Bool);
  }
  const Int size = size_of(x, along);
  T starts = concat({g.tensor(Tensor::of<uint8_t>(DType::Bool, {1}, {1})), ~same}, 0);
  starts = slice(with_rank(starts, 1), 0, known(0), size);  // no run in an empty axis
  T number = node("CumSum", {cast(starts, DType::Int64), g.i64(0)});
  T at = entry(with_rank(unary("NonZero", starts), 2), 0, known(0));
  T ends = concat({slice(at, 0, known(1), known(kEnd)), g.vector({size})}, 0);
  // An empty axis has no end either.
  ends = slice(with_rank(ends, 1), 0, known(0), size_of(at, 0));
  return {with_rank(node("Compress", {x, starts}, {{"axis", along}}), x.rank()),
          with_rank(number - 1, 1), with_rank(ends - at, 1)};
}

Values results(Call& g, const Distinct& d, T inverse, bool want_inverse, bool want_counts) {
  return {d.values, want_inverse ? inverse : not_asked(g), want_counts ? d.counts : not_asked(g)};
}

T inverse_like(T inverse, T x) { return x.rank() == 0 ? to_0d(inverse) : restore(inverse, x); }

Values unique(Call& g, T x, Skip, bool inverse, bool counts) {
  const Distinct d = distinct(x, std::nullopt);
  return results(g, d, inverse_like(d.inverse, x), inverse, counts);
}

Values unique_dim(Call& g, T x, Axis axis, Skip, bool inverse, bool counts) {
  const Distinct d = distinct(x, axis);
  return results(g, d, d.inverse, inverse, counts);
}

Values unique_runs(Call& g, T x, bool inverse, bool counts, const std::optional<Axis>& axis) {
  const Distinct d = runs(g, x, axis);
  return results(g, d, axis ? d.inverse : inverse_like(d.inverse, x), inverse, counts);
}

// --- searching

DType common(T a, T b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  return is_float(a.dtype()) || is_float(b.dtype()) ? DType::Double : DType::Int64;
}

// How many entries of the sorted last axis are below v (left), or not above it (right). All of them
// where v is NaN. Of constants: where capture does not know that they are sorted it searches.
T count_below(Call& g, T sorted, T v, bool right) {
  const int64_t rank = v.rank();
  const DType t = common(sorted, v);
  T row = cast(sorted, t), column = unsqueeze(cast(v, t), {rank});
  if (sorted.rank() > 1) row = unsqueeze(row, {sorted.rank() - 1});
  T counted = right ? ~(column < row) : is_float(t) ? ~(row >= column) : row < column;
  T y =
      node("ReduceSum", {cast(counted, DType::Int64), g.i64s({rank})}, {{"keepdims", int64_t{0}}});
  return with_rank(y, rank);
}

T searchsorted(Call& g, T sorted, T v, Skip, bool right, const std::optional<std::string>& side,
               Skip = {}) {
  return count_below(g, sorted, v, right || side == "right");
}

// A number takes the tensor's type, but a float beside integers makes both float.
T number_beside(T number, T tensor) {
  const DType t = tensor.dtype();
  return cast(number, is_float(number.dtype()) && !is_float(t) ? DType::Float : t);
}

// --- membership and counting

T isin(Call& g, T x, T test, Skip, bool invert) {
  const DType t = common(x, test);
  const int64_t rank = x.rank();
  T same = equal(unsqueeze(cast(x, t), {rank}), flat(cast(test, t)));
  T hits =
      node("ReduceSum", {cast(same, DType::Int32), g.i64s({rank})}, {{"keepdims", int64_t{0}}});
  T in = with_rank(cast(hits, DType::Bool), rank);
  return invert ? ~in : in;
}

// How often each of [0, bins) occurs, or the weights of its occurrences.
T table_of(Call& g, T x, const Int& bins, T weights, DType t) {
  T hit = equal(along(g.iota(bins), 0, 2), along(x, 1, 2));
  T amount = weights ? where(hit, cast(weights, t), 0) : cast(hit, t);
  return with_rank(node("ReduceSum", {amount, g.i64s({1})}, {{"keepdims", int64_t{0}}}), 1);
}

T bincount(Call& g, T x, const std::optional<T>& weights, const Int& minlength) {
  T v = cast(x, DType::Int64);
  // One entry below the smallest length asked for stands in for an empty input.
  T floor = g.vector({minlength - known(1)});
  T highest = node("ReduceMax", {concat({v, floor}, 0)}, {{"keepdims", int64_t{0}}});
  const Int bins = computed(with_rank(highest + 1, 0));
  return table_of(g, v, bins, weights.value_or(nullptr), g.result_dtype());
}

T histc(Call& g, T x, int64_t bins, const Scalar& low, const Scalar& high) {
  const DType t = g.result_dtype();
  T v = cast(flat(x), t);
  T from = g.scalar(low, t), to = g.scalar(high, t);
  if (!low.known || !high.known) throw NotKnown(low.known ? "max" : "min", "the graph");
  if (low.d == high.d) {  // the range of the data, widened when that is one number
    from = node("ReduceMin", {v}, {{"keepdims", int64_t{0}}});
    to = node("ReduceMax", {v}, {{"keepdims", int64_t{0}}});
    T flat_range = equal(from, to);
    from = where(flat_range, from - 1, from);
    to = where(flat_range, to + 1, to);
  }
  T place = (v - from) * static_cast<double>(bins) / (to - from);
  place = floor(place);
  // The upper end belongs to the last bin; what lies outside belongs to none.
  place = where(equal(v, to), static_cast<double>(bins - 1), place);
  T outside = (v < from) | (to < v);
  place = where(outside, -1, place);
  return table_of(g, with_rank(cast(place, DType::Int64), 1), known(bins), nullptr, t);
}

constexpr Lowering table[] = {
    op("aten::_unique(Tensor self, bool sorted=True, bool return_inverse=False) -> (Tensor, Tensor)",
       [](Call& g, T x, Skip, bool inverse) {
         Values all = unique(g, x, {}, inverse, false);
         all.pop_back();
         return all;
       }),
    op<unique>(
        "aten::_unique2(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"),
    op<unique_dim>(
        "aten::unique_dim(Tensor self, int dim, bool sorted=True, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)"),
    op<unique_runs>(
        "aten::unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None) -> (Tensor, Tensor, Tensor)"),
    op("aten::unique_dim_consecutive(Tensor self, int dim, bool return_inverse=False, bool return_counts=False) -> (Tensor, Tensor, Tensor)",
       [](Call& g, T x, Axis axis, bool inverse, bool counts) {
         return unique_runs(g, x, inverse, counts, axis);
       }),
    op<searchsorted>(
        "aten::searchsorted.Tensor(Tensor sorted_sequence, Tensor self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor"),
    op("aten::searchsorted.Scalar(Tensor sorted_sequence, Scalar self, *, bool out_int32=False, bool right=False, str? side=None, Tensor? sorter=None) -> Tensor",
       [](Call& g, T sorted, T v, Skip, bool right, const std::optional<std::string>& side, Skip) {
         return searchsorted(g, sorted, number_beside(v, sorted), {}, right, side);
       }),
    op("aten::bucketize.Tensor(Tensor self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
       [](Call& g, T v, T sorted, Skip, bool right) { return count_below(g, sorted, v, right); }),
    op("aten::bucketize.Scalar(Scalar self, Tensor boundaries, *, bool out_int32=False, bool right=False) -> Tensor",
       [](Call& g, T v, T sorted, Skip, bool right) {
         return count_below(g, sorted, number_beside(v, sorted), right);
       }),
    op<isin>(
        "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor"),
    op("aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False) -> Tensor",
       [](Call& g, T x, T test, Skip, bool invert) {
         return isin(g, x, number_beside(test, x), {}, invert);
       }),
    op("aten::isin.Scalar_Tensor(Scalar element, Tensor test_elements, *, bool assume_unique=False, bool invert=False) -> Tensor",
       [](Call& g, T x, T test, Skip, bool invert) {
         return isin(g, number_beside(x, test), test, {}, invert);
       }),
    op<bincount>("aten::bincount(Tensor self, Tensor? weights=None, SymInt minlength=0) -> Tensor"),
    op<histc>("aten::histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor"),
};

}  // namespace

Table set_rows() { return table; }

}  // namespace oe::lower
