// Triangles of matrices and diagonals made into matrices.
// https://onnx.ai/onnx/operators/onnx__Trilu.html
#include "lib/lower/aten/strided.h"

namespace oe::lower {
namespace {

using namespace shape;

Value triangle(Emit& g, Value x, const Int& k, bool upper) {
  Value y = g.node("Trilu", {x, g.to_value(k)}, {{"upper", int64_t{upper}}});
  return with_dims(y, *x->type.shape);
}

// [2, n]: rows and columns of the triangle's entries, row by row.
Value triangle_indices(Emit& g, const Int& rows, const Int& columns, const Int& k, bool upper) {
  Value ones = expanded(g, g.i64(1), g.to_vector({rows, columns}), 2);
  Value inside = g.node("Trilu", {ones, g.to_value(k)}, {{"upper", int64_t{upper}}});
  return g.cast(with_rank(g.node("NonZero", {inside}), 2), g.result_dtype());
}

// The last axis on the diagonal of two new last axes, which then move to dim1 and dim2.
Value diag_embed(Emit& g, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  x = at_least_1d(g, x);
  const int64_t rank = g.rank(x) + 1;
  const int64_t shift = offset < 0 ? -offset : offset;
  const Int length = dim(g, x, rank - 2), side = add(g, length, known(shift));
  // One where row and column are on the diagonal; [side, length] with the other entries zero.
  Value on = g.node("Equal", {along(g, iota(g, side), 0, 2), add(g, along(g, iota(g, length), 1, 2),
                                                                 g.i64(offset < 0 ? shift : 0))});
  // x[.., None, j] where i == j + below, then columns moved right by the offset.
  Value square = g.node("Where", {on, unsqueezed(g, x, {rank - 2}), g.integer(0, g.dtype(x))});
  with_rank(square, rank);
  if (shift > 0) {
    Ints pads(static_cast<size_t>(2 * rank), 0);
    pads[static_cast<size_t>(offset > 0 ? rank - 1 : 2 * rank - 1)] = shift;
    square = with_rank(g.node("Pad", {square, g.i64s(pads), g.integer(0, g.dtype(x))}), rank);
  }
  auto wrapped = [&](int64_t d) { return d < 0 ? d + rank : d; };
  const int64_t a = wrapped(dim1), b = wrapped(dim2);
  Ints perm(static_cast<size_t>(rank), -1);
  perm[static_cast<size_t>(a)] = rank - 2;
  perm[static_cast<size_t>(b)] = rank - 1;
  int64_t next = 0;
  for (int64_t& p : perm)
    if (p < 0) p = next++;
  return permuted(g, square, perm);
}

Value diag(Emit& g, Value x, int64_t offset) {
  if (g.rank(x) == 1) return diag_embed(g, x, offset, -2, -1);
  const Diagonal d(g, x, offset, 0, 1);
  return taken(g, d.flattened(g, x), d.places(g), 0);
}

Value trace(Emit& g, Value x) {
  Value d = g.cast(diag(g, x, 0), g.result_dtype());
  return g.node("ReduceSum", {d}, {{"keepdims", int64_t{0}}});
}

constexpr Lowering table[] = {
    op("aten::tril(Tensor self, SymInt diagonal=0) -> Tensor",
       [](Emit& g, Value x, Int k) { return triangle(g, x, k, false); }),
    op("aten::triu(Tensor self, SymInt diagonal=0) -> Tensor",
       [](Emit& g, Value x, Int k) { return triangle(g, x, k, true); }),
    op("aten::tril_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int rows, Int columns, Int k, Skip, Skip, Skip, Skip) {
         return triangle_indices(g, rows, columns, k, false);
       }),
    op("aten::triu_indices(int row, int col, int offset=0, *, ScalarType? dtype=4, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int rows, Int columns, Int k, Skip, Skip, Skip, Skip) {
         return triangle_indices(g, rows, columns, k, true);
       }),
    op("aten::diag(Tensor self, int diagonal=0) -> Tensor",
       [](Emit& g, Value x, int64_t k) { return diag(g, x, k); }),
    op("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor",
       [](Emit& g, Value x, int64_t k, int64_t a, int64_t b) { return diag_embed(g, x, k, a, b); }),
    op("aten::diagflat(Tensor self, int offset=0) -> Tensor",
       [](Emit& g, Value x, int64_t k) { return diag_embed(g, flat(g, x), k, -2, -1); }),
    op("aten::trace(Tensor self) -> Tensor", [](Emit& g, Value x) { return trace(g, x); }),
};

}  // namespace

Table triangle_rows() { return table; }

}  // namespace oe::lower
