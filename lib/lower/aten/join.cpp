// Several tensors made one: cat, stack and their kin, products and combinations of vectors.
// https://onnx.ai/onnx/operators/onnx__Concat.html
#include <algorithm>
#include <optional>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

Values cast_all(Call& g, Values v) {
  for (T& x : v) x = cast(x, g.result_dtype());
  return v;
}

// cat also takes tensors of shape [0] beside tensors of any rank, and leaves them out.
T cat_tensors(Call& g, const Values& given, int64_t dim) {
  int64_t rank = 0;
  for (T x : given) rank = std::max(rank, x.rank());
  Values v;
  for (T x : cast_all(g, given))
    if (rank == 1 || x.rank() == rank) v.push_back(x);
  return concat(v, v.at(0).axis(dim));
}

T cat(Call& g, const List& v, int64_t dim) {
  if (v.sequence) return node("ConcatFromSequence", {v.sequence}, {{"axis", dim}});
  return cat_tensors(g, v.items, dim);
}

T stack(Call& g, const List& list, int64_t dim) {
  if (list.sequence)
    return node("ConcatFromSequence", {list.sequence}, {{"axis", dim}, {"new_axis", int64_t{1}}});
  const int64_t axis = dim < 0 ? dim + list.items.at(0).rank() + 1 : dim;
  Values v;
  for (T x : cast_all(g, list.items)) v.push_back(unsqueeze(x, {axis}));
  return concat(v, axis);
}

T hstack(Call& g, const Values& given) {
  Values v;
  for (T x : given) v.push_back(at_least_1d(x));
  return cat_tensors(g, v, v.at(0).rank() == 1 ? 0 : 1);
}

T as_row(T x) {
  if (x.rank() >= 2) return x;
  return unsqueeze(at_least_1d(x), {0});
}

T vstack(Call& g, const Values& given) {
  Values v;
  for (T x : given) v.push_back(as_row(x));
  return cat_tensors(g, v, 0);
}

T dstack(Call& g, const Values& given) {
  Values v;
  for (T x : given) {
    x = as_row(x);
    v.push_back(x.rank() == 2 ? unsqueeze(x, {2}) : x);
  }
  return cat_tensors(g, v, 2);
}

T column_stack(Call& g, const Values& given) {
  Values v;
  for (T x : given) v.push_back(x.rank() < 2 ? unsqueeze(at_least_1d(x), {1}) : x);
  return cat_tensors(g, v, 1);
}

// Every block padded with zeros to the whole width, one above the other.
T block_diag(Call& g, const Values& given) {
  Values blocks;
  Int width = known(0);
  for (T x : cast_all(g, given)) {
    blocks.push_back(as_row(x));
    width = width + size_of(blocks.back(), 1);
  }
  Int left = known(0);
  Values rows;
  for (T x : blocks) {
    const Int columns = size_of(x, 1);
    const Int right = width - left - columns;
    T pads = g.vector({known(0), left, known(0), right});
    T padded = node("Pad", {x, pads, g.number(0, x.dtype())});
    rows.push_back(with_dims(padded, {(*x->type.shape)[0], Dim::unknown()}));
    left = left + columns;
  }
  return concat(rows, 0);
}

// All tuples of one entry of each vector, the last one running fastest.
T cartesian_prod(Call& g, const Values& given) {
  const Values v = cast_all(g, given);
  const auto n = static_cast<int64_t>(v.size());
  if (n == 1) return v[0];
  Dims shape;
  for (T x : v) shape.push_back(size_of(x, 0));
  T whole = g.vector(shape);
  Values columns;
  for (int64_t i = 0; i < n; ++i) {
    T grid = expand(along(v[static_cast<size_t>(i)], i, n), whole, n);
    columns.push_back(unsqueeze(flat(grid), {1}));
  }
  return concat(columns, 1);
}

// The index tuples i0 < i1 < .. (or <=) in lexicographic order: where the comparisons hold.
T combinations(Call& g, T x, int64_t r, bool with_replacement) {
  if (r == 0) return g.tensor(Tensor::from_bytes(x.dtype(), {0}, nullptr, 0));
  if (r == 1) return unsqueeze(x, {1});
  const Int size = size_of(x, 0);
  T ids = g.iota(size);
  T holds = nullptr;
  for (int64_t i = 0; i + 1 < r; ++i) {
    T a = along(ids, i, r), b = along(ids, i + 1, r);
    T ordered = with_replacement ? ~(b < a) : a < b;
    holds = holds ? holds & ordered : ordered;
  }
  T tuples = transpose(unary("NonZero", holds), Ints{1, 0});
  return gather(x, with_rank(tuples, 2), 0);
}

constexpr Lowering table[] = {
    op<cat>("aten::cat(Tensor[] tensors, int dim=0) -> Tensor"),
    op<stack>("aten::stack(Tensor[] tensors, int dim=0) -> Tensor"),
    op<hstack>("aten::hstack(Tensor[] tensors) -> Tensor"),
    op<vstack>("aten::vstack(Tensor[] tensors) -> Tensor"),
    op<dstack>("aten::dstack(Tensor[] tensors) -> Tensor"),
    op<column_stack>("aten::column_stack(Tensor[] tensors) -> Tensor"),
    op<block_diag>("aten::block_diag(Tensor[] tensors) -> Tensor"),
    op<cartesian_prod>("aten::cartesian_prod(Tensor[] tensors) -> Tensor"),
    op<combinations>(
        "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor"),
};

}  // namespace

Table join_rows() { return table; }

}  // namespace oe::lower
