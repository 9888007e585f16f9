// Several tensors made one: cat and stack, and the combinations of a vector.
// https://onnx.ai/onnx/operators/onnx__Concat.html
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

Values cast_all(Call& g, Values v) {
  for (T& x : v) x = cast(x, g.result_dtype());
  return v;
}

// cat also takes tensors of shape [0] beside tensors of any rank, and leaves them out.
T cat(Call& g, const List& list, int64_t dim) {
  if (list.sequence) return node("ConcatFromSequence", {list.sequence}, {{"axis", dim}});
  int64_t rank = 0;
  for (T x : list.items) rank = std::max(rank, x.rank());
  Values v;
  for (T x : cast_all(g, list.items))
    if (rank == 1 || x.rank() == rank) v.push_back(x);
  return concat(v, v.at(0).axis(dim));
}

T stack(Call& g, const List& list, int64_t dim) {
  if (list.sequence)
    return node("ConcatFromSequence", {list.sequence}, {{"axis", dim}, {"new_axis", int64_t{1}}});
  const int64_t axis = dim < 0 ? dim + list.items.at(0).rank() + 1 : dim;
  Values v;
  for (T x : cast_all(g, list.items)) v.push_back(unsqueeze(x, {axis}));
  return concat(v, axis);
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
    op<combinations>(
        "aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor"),
};

}  // namespace

Table join_rows() { return table; }

}  // namespace oe::lower
