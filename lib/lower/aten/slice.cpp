// Pieces of one tensor: slice, select, narrow, diagonals, windows (unfold) and strided reads.
// https://onnx.ai/onnx/operators/onnx__Slice.html
#include <algorithm>

#include "lib/lower/aten/shape_build.h"
#include "lib/lower/aten/strided.h"

namespace oe::lower {
namespace {

using namespace shape;

Value slice_row(Emit& g, Value x, int64_t dim, const std::optional<Int>& start,
                const std::optional<Int>& end, int64_t step) {
  // INT64_MAX as an end counts as the end on every axis in both worlds.
  return cut(g, x, g.axis(x, dim), start.value_or(known(0)), end.value_or(known(kEnd)), step);
}

Value select_row(Emit& g, Value x, int64_t dim, const Int& index) {
  return entry(g, x, g.axis(x, dim), index);
}

Value narrow_row(Emit& g, Value x, int64_t dim, Int start, const Int& length) {
  const int64_t axis = g.axis(x, dim);
  const bool negative = !start.known || *start.known < 0;
  if (negative) start = wrap(g, start, nn::dim(g, x, axis));
  Value y = cut(g, x, axis, start, add(g, start, length));
  if (length.known && y->type.shape)
    (*y->type.shape)[static_cast<size_t>(axis)] = Dim::of(*length.known);
  return y;
}

// The entries i with i + start on the diagonal, over both axes as one; see Diagonal.
Value diagonal(Emit& g, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  const Diagonal d(g, x, offset, dim1, dim2);
  return taken(g, d.flattened(g, x), d.places(g), d.rank - 2);
}

Value as_strided(Emit& g, Value x, const Dims& size, const Dims& stride,
                 const std::optional<Int>& offset) {
  return taken(g, flat(g, x), strided_places(g, size, stride, offset.value_or(known(0))), 0);
}

// Neighbours' differences, n times over; of bools whether they differ.
Value diff(Emit& g, Value x, int64_t times, int64_t dim, std::optional<Value> before,
           std::optional<Value> after) {
  const DType t = g.result_dtype();
  const int64_t axis = g.axis(x, dim);
  Values parts;
  if (before) parts.push_back(g.cast(*before, t));
  parts.push_back(g.cast(x, t));
  if (after) parts.push_back(g.cast(*after, t));
  if (parts.size() > 1) x = with_rank(g.node("Concat", parts, {{"axis", axis}}), g.rank(x));
  for (int64_t i = 0; i < times; ++i) {
    Value later = cut(g, x, axis, known(1), known(kEnd), 1);
    Value earlier = cut(g, x, axis, known(0), known(-1), 1);
    x = g.node(t == DType::Bool ? "Xor" : "Sub", {later, earlier});
  }
  return x;
}

// [.., n, ..] -> [.., windows, .., size]
Value unfold(Emit& g, Value x, int64_t dim, int64_t size, int64_t step) {
  if (g.rank(x) == 0) return cut(g, at_least_1d(g, x), 0, known(0), known(size));
  const int64_t axis = g.axis(x, dim), rank = g.rank(x);
  const Int windows =
      add(g, floor_div(g, sub(g, nn::dim(g, x, axis), known(size)), step), known(1));
  Value places;
  if (windows.known) {
    Ints all;
    for (int64_t w = 0; w < *windows.known; ++w)
      for (int64_t i = 0; i < size; ++i) all.push_back(w * step + i);
    places = g.tensor(Tensor::of<int64_t>(DType::Int64, {*windows.known, size}, all), "windows");
  } else {
    Value first = mul(g, iota(g, windows), g.i64(step));
    places = add(g, along(g, first, 0, 2), g.i64s(range(0, size)));
    with_dims(places, {Dim::unknown(), Dim::of(size)});
  }
  Value y = taken(g, x, places, axis);
  Ints perm = range(0, rank + 1);
  perm.erase(perm.begin() + axis + 1);
  perm.push_back(axis + 1);
  return permuted(g, y, perm);
}

constexpr auto slice_lambda = [](Emit& g, Value x, int64_t dim, std::optional<Int> start,
                                 std::optional<Int> end,
                                 int64_t step) { return slice_row(g, x, dim, start, end, step); };
constexpr auto select_lambda = [](Emit& g, Value x, int64_t dim, Int index) {
  return select_row(g, x, dim, index);
};
constexpr auto narrow_lambda = [](Emit& g, Value x, int64_t dim, Int start, Int length) {
  return narrow_row(g, x, dim, start, length);
};
constexpr auto diagonal_lambda = [](Emit& g, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  return diagonal(g, x, offset, dim1, dim2);
};
constexpr auto strided_lambda = [](Emit& g, Value x, Dims size, Dims stride,
                                   std::optional<Int> offset) {
  return as_strided(g, x, size, stride, offset);
};
constexpr auto unfold_lambda = [](Emit& g, Value x, int64_t dim, int64_t size, int64_t step) {
  return unfold(g, x, dim, size, step);
};

constexpr Lowering table[] = {
    op<diff>(
        "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"),
    op("aten::slice.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
       slice_lambda),
    op("aten::slice_copy.Tensor(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor",
       slice_lambda),
    op("aten::select.int(Tensor self, int dim, SymInt index) -> Tensor", select_lambda),
    op("aten::select_copy.int(Tensor self, int dim, SymInt index) -> Tensor", select_lambda),
    op("aten::narrow(Tensor self, int dim, SymInt start, SymInt length) -> Tensor", narrow_lambda),
    op("aten::narrow.Tensor(Tensor self, int dim, Tensor start, SymInt length) -> Tensor",
       narrow_lambda),
    op("aten::narrow_copy(Tensor self, int dim, SymInt start, SymInt length) -> Tensor",
       narrow_lambda),
    op("aten::diagonal(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
       diagonal_lambda),
    op("aten::diagonal_copy(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor",
       diagonal_lambda),
    op("aten::linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
       diagonal_lambda),
    op("aten::as_strided(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
       strided_lambda),
    op("aten::as_strided_copy(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor",
       strided_lambda),
    op("aten::unfold(Tensor self, int dimension, int size, int step) -> Tensor", unfold_lambda),
    op("aten::unfold_copy(Tensor self, int dimension, int size, int step) -> Tensor",
       unfold_lambda),
};

}  // namespace

Table slice_rows() { return table; }

}  // namespace oe::lower
