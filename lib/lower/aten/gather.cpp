// Elements chosen by indices or masks, and the places where a tensor is not zero.
// https://onnx.ai/onnx/operators/onnx__GatherElements.html
#include <algorithm>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

Value index_select(Emit& g, Value x, int64_t dim, Value index) {
  const int64_t axis = g.axis(x, dim);
  if (g.rank(x) == 0) return x;
  return taken(g, x, at_least_1d(g, index), axis);
}

Value gather_elements(Emit& g, Value x, int64_t dim, Value index) {
  const int64_t axis = g.axis(x, dim);
  Value i = at_least_1d(g, g.cast(index, DType::Int64));
  Value y = g.node("GatherElements", {at_least_1d(g, x), i}, {{"axis", axis}});
  with_dims(y, *i->type.shape);
  return g.rank(index) == 0 ? to_0d(g, y) : y;
}

Value take(Emit& g, Value x, Value index) { return taken(g, flat(g, x), index, 0); }

Value take_along_dim(Emit& g, Value x, Value index, const std::optional<int64_t>& dim) {
  if (!dim) return gather_elements(g, flat(g, x), 0, flat(g, index));
  // Everything but the axis itself is broadcast.
  const int64_t axis = g.axis(x, *dim), rank = g.rank(x);
  auto fit = [&](Value v, Value other) {
    bool same = true;
    for (int64_t i = 0; i < rank; ++i) {
      const auto n = g.dim(v, i);
      same = same && (i == axis || (n && n == g.dim(other, i)) || g.dim(other, i) == 1);
    }
    if (same) return v;
    Values pieces;
    if (axis > 0) pieces.push_back(sizes(g, other, 0, axis));
    pieces.push_back(g.i64s({1}));
    if (axis + 1 < rank) pieces.push_back(sizes(g, other, axis + 1, rank));
    return expanded(g, v, concat(g, pieces, 0), rank);
  };
  return gather_elements(g, fit(x, index), axis, fit(index, x));
}

Value masked_select(Emit& g, Value x, Value mask) {
  const Values both = broadcast(g, {x, g.cast(mask, DType::Bool)});
  return with_rank(g.node("Compress", {flat(g, both[0]), flat(g, both[1])}, {{"axis", int64_t{0}}}),
                   1);
}

// [axes, places], as ONNX has it.
Value places(Emit& g, Value x) {
  const DType t = g.dtype(x);
  const bool direct = t == DType::Bool || t == DType::Float || t == DType::Int64;
  return with_rank(g.node("NonZero", {direct ? x : g.cast(x, DType::Bool)}), 2);
}

Value nonzero(Emit& g, Value x) {
  if (g.rank(x) > 0) return permuted(g, places(g, x), {1, 0});
  // A 0-d tensor has no coordinates: [1, 0] when it is not zero, [0, 0] otherwise.
  Value count = g.node("Shape", {places(g, at_least_1d(g, x))});
  Value shape = concat(g, {cut(g, count, 0, known(1), known(kEnd)), g.i64s({0})}, 0);
  Value zeros = g.node("ConstantOfShape", {shape});
  return with_rank(g.cast(zeros, DType::Int64), 2);
}

Values nonzero_tuple(Emit& g, Value x) {
  x = at_least_1d(g, x);
  Value all = places(g, x);
  Values out;
  for (int64_t i = 0; i < g.rank(x); ++i) out.push_back(entry(g, all, 0, known(i)));
  return out;
}

// The first `size` places, filled up with a number.
Value nonzero_static(Emit& g, Value x, const Int& size, int64_t fill) {
  Value all = nonzero(g, x);
  const Int count = nn::dim(g, all, 0);
  const Int missing = max(g, sub(g, size, count), known(0));
  Value more = expanded(g, g.i64(fill), g.to_vector({missing, known(g.rank(x))}), 2);
  return joined(g, {cut(g, all, 0, known(0), size), more}, 0);
}

Value one_hot(Emit& g, Value x, const Int& classes) {
  Value depth = g.to_value(classes);
  if (classes.known.value_or(0) < 0)
    depth = add(g, g.node("ReduceMax", {flat(g, x)}, {{"keepdims", int64_t{0}}}), g.i64(1));
  Value y = g.node("OneHot", {at_least_1d(g, x), depth, g.i64s({0, 1})}, {{"axis", int64_t{-1}}});
  return g.rank(x) > 0 ? with_rank(y, g.rank(x) + 1) : squeezed(g, with_rank(y, 2), {0});
}

constexpr auto nonzero_lambda = [](Emit& g, Value x) { return nonzero(g, x); };
constexpr auto tuple_lambda = [](Emit& g, Value x) { return nonzero_tuple(g, x); };

constexpr Lowering table[] = {
    op("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i) { return index_select(g, x, dim, i); }),
    op("aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Skip) { return gather_elements(g, x, dim, i); }),
    op("aten::take(Tensor self, Tensor index) -> Tensor",
       [](Emit& g, Value x, Value i) { return take(g, x, i); }),
    op("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor",
       [](Emit& g, Value x, Value i, std::optional<int64_t> dim) {
         return take_along_dim(g, x, i, dim);
       }),
    op("aten::masked_select(Tensor self, Tensor mask) -> Tensor",
       [](Emit& g, Value x, Value mask) { return masked_select(g, x, mask); }),
    op("aten::nonzero(Tensor self) -> Tensor", nonzero_lambda),
    op("aten::argwhere(Tensor self) -> Tensor", nonzero_lambda),
    op("aten::nonzero_numpy(Tensor self) -> Tensor[]", tuple_lambda),
    op("aten::where(Tensor condition) -> Tensor[]", tuple_lambda),
    op("aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor",
       [](Emit& g, Value x, Int size, int64_t fill) { return nonzero_static(g, x, size, fill); }),
    op("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor",
       [](Emit& g, Value x, Int classes) { return one_hot(g, x, classes); }),
};

}  // namespace

Table gather_rows() { return table; }

}  // namespace oe::lower
