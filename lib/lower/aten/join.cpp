// Several tensors made one: cat, stack and their kin, products and combinations of vectors.
// https://onnx.ai/onnx/operators/onnx__Concat.html
#include <algorithm>
#include <optional>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

Values cast_all(Emit& g, Values v) {
  for (Value& x : v) x = g.cast(x, g.result_dtype());
  return v;
}

// cat also takes tensors of shape [0] beside tensors of any rank, and leaves them out.
Value cat(Emit& g, const Values& given, int64_t dim) {
  int64_t rank = 0;
  for (Value x : given) rank = std::max(rank, g.rank(x));
  Values v;
  for (Value x : cast_all(g, given))
    if (rank == 1 || g.rank(x) == rank) v.push_back(x);
  return joined(g, v, g.axis(v.at(0), dim));
}

Value stack(Emit& g, const Values& given, int64_t dim) {
  const int64_t axis = dim < 0 ? dim + g.rank(given.at(0)) + 1 : dim;
  Values v;
  for (Value x : cast_all(g, given)) v.push_back(unsqueezed(g, x, {axis}));
  return joined(g, v, axis);
}

Value hstack(Emit& g, const Values& given) {
  Values v;
  for (Value x : given) v.push_back(at_least_1d(g, x));
  return cat(g, v, g.rank(v.at(0)) == 1 ? 0 : 1);
}

Value as_row(Emit& g, Value x) {
  if (g.rank(x) >= 2) return x;
  return unsqueezed(g, at_least_1d(g, x), {0});
}

Value vstack(Emit& g, const Values& given) {
  Values v;
  for (Value x : given) v.push_back(as_row(g, x));
  return cat(g, v, 0);
}

Value dstack(Emit& g, const Values& given) {
  Values v;
  for (Value x : given) {
    x = as_row(g, x);
    v.push_back(g.rank(x) == 2 ? unsqueezed(g, x, {2}) : x);
  }
  return cat(g, v, 2);
}

Value column_stack(Emit& g, const Values& given) {
  Values v;
  for (Value x : given) v.push_back(g.rank(x) < 2 ? unsqueezed(g, at_least_1d(g, x), {1}) : x);
  return cat(g, v, 1);
}

// Every block padded with zeros to the whole width, one above the other.
Value block_diag(Emit& g, const Values& given) {
  Values blocks;
  Int width = known(0);
  for (Value x : cast_all(g, given)) {
    blocks.push_back(as_row(g, x));
    width = add(g, width, dim(g, blocks.back(), 1));
  }
  Int left = known(0);
  Values rows;
  for (Value x : blocks) {
    const Int columns = dim(g, x, 1);
    const Int right = sub(g, sub(g, width, left), columns);
    Value pads = g.to_vector({known(0), left, known(0), right});
    Value padded = g.node("Pad", {x, pads, g.number(0, g.dtype(x))});
    rows.push_back(with_dims(padded, {(*x->type.shape)[0], Dim::unknown()}));
    left = add(g, left, columns);
  }
  return joined(g, rows, 0);
}

// All tuples of one entry of each vector, the last one running fastest.
Value cartesian_prod(Emit& g, const Values& given) {
  const Values v = cast_all(g, given);
  const auto n = static_cast<int64_t>(v.size());
  if (n == 1) return v[0];
  Dims shape;
  for (Value x : v) shape.push_back(dim(g, x, 0));
  Value whole = g.to_vector(shape);
  Values columns;
  for (int64_t i = 0; i < n; ++i) {
    Value grid = expanded(g, along(g, v[static_cast<size_t>(i)], i, n), whole, n);
    columns.push_back(unsqueezed(g, flat(g, grid), {1}));
  }
  return joined(g, columns, 1);
}

// The index tuples i0 < i1 < .. (or <=) in lexicographic order: where the comparisons hold.
Value combinations(Emit& g, Value x, int64_t r, bool with_replacement) {
  if (r == 0) return g.tensor(Tensor::from_bytes(g.dtype(x), {0}, nullptr, 0));
  if (r == 1) return unsqueezed(g, x, {1});
  const Int size = dim(g, x, 0);
  Value ids = iota(g, size);
  Value holds = nullptr;
  for (int64_t i = 0; i + 1 < r; ++i) {
    Value a = along(g, ids, i, r), b = along(g, ids, i + 1, r);
    Value ordered =
        with_replacement ? g.node("Not", {g.node("Less", {b, a})}) : g.node("Less", {a, b});
    holds = holds ? g.node("And", {holds, ordered}) : ordered;
  }
  Value tuples = g.node("Transpose", {g.node("NonZero", {holds})}, {{"perm", Ints{1, 0}}});
  return taken(g, x, with_rank(tuples, 2), 0);
}

constexpr auto cat_lambda = [](Emit& g, List v, int64_t dim) {
  if (v.sequence) return g.node("ConcatFromSequence", {v.sequence}, {{"axis", dim}});
  return cat(g, v.items, dim);
};
constexpr auto vstack_lambda = [](Emit& g, Values v) { return vstack(g, v); };

constexpr Lowering table[] = {
    op("aten::cat(Tensor[] tensors, int dim=0) -> Tensor", cat_lambda),
    op("aten::stack(Tensor[] tensors, int dim=0) -> Tensor",
       [](Emit& g, List v, int64_t dim) {
         if (v.sequence)
           return g.node("ConcatFromSequence", {v.sequence},
                         {{"axis", dim}, {"new_axis", int64_t{1}}});
         return stack(g, v.items, dim);
       }),
    op("aten::hstack(Tensor[] tensors) -> Tensor", [](Emit& g, Values v) { return hstack(g, v); }),
    op("aten::vstack(Tensor[] tensors) -> Tensor", vstack_lambda),
    op("aten::dstack(Tensor[] tensors) -> Tensor", [](Emit& g, Values v) { return dstack(g, v); }),
    op("aten::column_stack(Tensor[] tensors) -> Tensor",
       [](Emit& g, Values v) { return column_stack(g, v); }),
    op("aten::block_diag(Tensor[] tensors) -> Tensor",
       [](Emit& g, Values v) { return block_diag(g, v); }),
    op("aten::cartesian_prod(Tensor[] tensors) -> Tensor",
       [](Emit& g, Values v) { return cartesian_prod(g, v); }),
    op("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor",
       [](Emit& g, Value x, int64_t r, bool again) { return combinations(g, x, r, again); }),
};

}  // namespace

Table join_rows() { return table; }

}  // namespace oe::lower
