// Pieces of one tensor: slice, select, narrow, diagonals, windows (unfold) and strided reads.
// https://onnx.ai/onnx/operators/onnx__Slice.html
#include <algorithm>

#include "lib/lower/aten/strided.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

T slice_row(T x, Axis axis, const std::optional<Int>& start, const std::optional<Int>& end,
            const Int& step) {
  // INT64_MAX as an end counts as the end on every axis in both worlds.
  return slice(x, axis, start.value_or(known(0)), end.value_or(known(kEnd)), step);
}

T select(T x, Axis axis, const Int& index) { return entry(x, axis, index); }

T narrow(T x, Axis axis, Int start, const Int& length) {
  if (start.known.value_or(-1) < 0) start = wrap(start, size_of(x, axis));
  T y = slice(x, axis, start, start + length);
  if (length.known && y->type.shape)
    (*y->type.shape)[static_cast<size_t>(axis)] = Dim::of(*length.known);
  return y;
}

// The entries i with i + start on the diagonal, over both axes as one; see Diagonal.
T diagonal(Call& g, T x, int64_t offset, Axis axis1, Axis axis2) {
  const Diagonal d(x, offset, axis1, axis2);
  return gather(d.flattened(x), d.places(g), d.rank - 2);
}

T as_strided(Call& g, T x, const Dims& size, const Dims& stride, const std::optional<Int>& offset) {
  return gather(flat(x), strided_places(g, size, stride, offset.value_or(known(0))), 0);
}

// Neighbours' differences, n times over; of bools whether they differ.
T diff(T x, int64_t times, Axis axis, std::optional<T> before, std::optional<T> after) {
  if (times == 0) return x;
  Values parts{x};
  if (before) parts.insert(parts.begin(), *before);
  if (after) parts.push_back(*after);
  if (parts.size() > 1) x = with_rank(node("Concat", parts, {{"axis", axis.value}}), x.rank());
  for (int64_t i = 0; i < times; ++i) {
    T later = slice(x, axis, known(1), known(kEnd)), earlier = slice(x, axis, known(0), known(-1));
    x = x.dtype() == DType::Bool ? later ^ earlier : later - earlier;
  }
  return x;
}

// [.., n, ..] -> [.., windows, .., size]
T unfold(Call& g, T x, Axis axis, const Int& size, const Int& step) {
  if (x.rank() == 0) return slice(at_least_1d(x), 0, known(0), size);
  const int64_t rank = x.rank();
  const Int windows = floor_div(size_of(x, axis) - size, step) + known(1);
  T places;
  if (windows.known && size.known && step.known) {
    Ints all;
    for (int64_t w = 0; w < *windows.known; ++w)
      for (int64_t i = 0; i < *size.known; ++i) all.push_back(w * *step.known + i);
    places =
        g.tensor(Tensor::of<int64_t>(DType::Int64, {*windows.known, *size.known}, all), "windows");
  } else {
    places = along(g.iota(windows) * g.value(step), 0, 2) + g.iota(size);
    with_dims(places, {dim_of(windows), dim_of(size)});
  }
  T y = gather(x, places, axis);
  Ints perm = range(0, rank + 1);
  perm.erase(perm.begin() + axis + 1);
  perm.push_back(axis + 1);
  return transpose(y, perm);
}

constexpr Lowering table[] = {
    typed<diff>(
        "aten::diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor"),
    op<slice_row>(
        names("aten::slice.Tensor", "aten::slice_copy.Tensor"),
        "(Tensor self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor"),
    op<select>(names("aten::select.int", "aten::select_copy.int"),
               "(Tensor self, int dim, SymInt index) -> Tensor"),
    op<narrow>(names("aten::narrow", "aten::narrow_copy"),
               "(Tensor self, int dim, SymInt start, SymInt length) -> Tensor"),
    op<narrow>("aten::narrow.Tensor(Tensor self, int dim, Tensor start, SymInt length) -> Tensor"),
    op<diagonal>(names("aten::diagonal", "aten::diagonal_copy"),
                 "(Tensor self, int offset=0, int dim1=0, int dim2=1) -> Tensor"),
    op<diagonal>(
        "aten::linalg_diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"),
    op<as_strided>(
        names("aten::as_strided", "aten::as_strided_copy"),
        "(Tensor self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor"),
    op<unfold>(names("aten::unfold", "aten::unfold_copy"),
               "(Tensor self, int dimension, int size, int step) -> Tensor"),
};

}  // namespace

Table slice_rows() { return table; }

}  // namespace oe::lower
