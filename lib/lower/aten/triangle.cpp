// Triangles of matrices and diagonals made into matrices.
// https://onnx.ai/onnx/operators/onnx__Trilu.html
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

template <bool Upper>
T triangle(Call& g, T x, const Int& k) {
  T y = node("Trilu", {x, g.value(k)}, {{"upper", int64_t{Upper}}});
  return with_dims(y, *x->type.shape);
}

// [2, n]: rows and columns of the triangle's entries, row by row.
template <bool Upper>
T triangle_indices(Call& g, const Int& rows, const Int& columns, const Int& k, Rest) {
  T ones = expand(g.i64(1), g.vector({rows, columns}), 2);
  T inside = node("Trilu", {ones, g.value(k)}, {{"upper", int64_t{Upper}}});
  return cast(with_rank(unary("NonZero", inside), 2), g.result_dtype());
}

// The last axis on the diagonal of two new last axes, which then move to dim1 and dim2.
T diag_embed(Call& g, T x, int64_t offset, int64_t dim1, int64_t dim2) {
  x = at_least_1d(x);
  const int64_t rank = x.rank() + 1;
  const int64_t shift = offset < 0 ? -offset : offset;
  const Int length = size_of(x, rank - 2), side = length + known(shift);
  // One where row and column are on the diagonal; [side, length] with the other entries zero.
  T on = equal(along(g.iota(side), 0, 2), along(g.iota(length), 1, 2) + (offset < 0 ? shift : 0));
  // x[.., None, j] where i == j + below, then columns moved right by the offset.
  T square = where(on, unsqueeze(x, {rank - 2}), 0);
  with_rank(square, rank);
  if (shift > 0) {
    Ints pads(static_cast<size_t>(2 * rank), 0);
    pads[static_cast<size_t>(offset > 0 ? rank - 1 : 2 * rank - 1)] = shift;
    square = with_rank(node("Pad", {square, g.i64s(pads), g.integer(0, x.dtype())}), rank);
  }
  auto wrapped = [&](int64_t d) { return d < 0 ? d + rank : d; };
  const int64_t a = wrapped(dim1), b = wrapped(dim2);
  Ints perm(static_cast<size_t>(rank), -1);
  perm[static_cast<size_t>(a)] = rank - 2;
  perm[static_cast<size_t>(b)] = rank - 1;
  int64_t next = 0;
  for (int64_t& p : perm)
    if (p < 0) p = next++;
  return transpose(square, perm);
}

constexpr Lowering table[] = {
    op<triangle<false>>("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor"),
    op<triangle<true>>("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor"),
    op<triangle_indices<false>>(
        "aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<triangle_indices<true>>(
        "aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<diag_embed>(
        "aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor"),
};

}  // namespace

Table triangle_rows() { return table; }

}  // namespace oe::lower
