// Elements chosen by indices or masks, and the places where a tensor is not zero.
// https://onnx.ai/onnx/operators/onnx__GatherElements.html
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T index_select(T x, Axis axis, T index) {
  return x.rank() == 0 ? x : gather(x, at_least_1d(index), axis);
}

T gather_elements(T x, Axis axis, T index, Rest = {}) {
  T i = at_least_1d(cast(index, DType::Int64));
  T y = node("GatherElements", {at_least_1d(x), i}, {{"axis", axis.value}});
  with_dims(y, *i->type.shape);
  return index.rank() == 0 ? to_0d(y) : y;
}

T take(T x, T index) { return gather(flat(x), index, 0); }

T take_along_dim(Call& g, T x, T index, const std::optional<Axis>& dim) {
  if (!dim) return gather_elements(flat(x), {0}, flat(index));
  // Everything but the axis itself is broadcast.
  const int64_t axis = *dim, rank = x.rank();
  auto fit = [&](T v, T other) {
    bool same = true;
    for (int64_t i = 0; i < rank; ++i) {
      const auto n = v.dim(i);
      same = same && (i == axis || (n && n == other.dim(i)) || other.dim(i) == 1);
    }
    if (same) return v;
    Values pieces;
    if (axis > 0) pieces.push_back(sizes(other, 0, axis));
    pieces.push_back(g.i64s({1}));
    if (axis + 1 < rank) pieces.push_back(sizes(other, axis + 1, rank));
    return expand(v, concat(pieces, 0), rank);
  };
  return gather_elements(fit(x, index), *dim, fit(index, x));
}

T masked_select(T x, T mask) {
  const Values both = broadcast({x, cast(mask, DType::Bool)});
  return with_rank(node("Compress", {flat(both[0]), flat(both[1])}, {{"axis", int64_t{0}}}), 1);
}

// [axes, places], as ONNX has it.
T places(T x) {
  const DType t = x.dtype();
  const bool direct = t == DType::Bool || t == DType::Float || t == DType::Int64;
  return with_rank(unary("NonZero", direct ? x : cast(x, DType::Bool)), 2);
}

T nonzero(Call& g, T x) {
  if (x.rank() > 0) return transpose(places(x), {1, 0});
  // A 0-d tensor has no coordinates: [1, 0] when it is not zero, [0, 0] otherwise.
  T count = unary("Shape", places(at_least_1d(x)));
  T shape = concat({slice(count, 0, known(1), known(kEnd)), g.i64s({0})}, 0);
  T zeros = unary("ConstantOfShape", shape);
  return with_rank(cast(zeros, DType::Int64), 2);
}

Values nonzero_tuple(T x) {
  x = at_least_1d(x);
  T all = places(x);
  Values out;
  for (int64_t i = 0; i < x.rank(); ++i) out.push_back(entry(all, 0, known(i)));
  return out;
}

// The first `size` places, filled up with a number.
T nonzero_static(Call& g, T x, const Int& size, int64_t fill) {
  T all = nonzero(g, x);
  const Int count = size_of(all, 0);
  const Int missing = max(size - count, known(0));
  T more = expand(g.i64(fill), g.vector({missing, known(x.rank())}), 2);
  return concat({slice(all, 0, known(0), size), more}, 0);
}

T one_hot(Call& g, T x, const Int& classes) {
  T depth = g.value(classes);
  if (classes.known.value_or(0) < 0)
    depth = node("ReduceMax", {flat(x)}, {{"keepdims", int64_t{0}}}) + 1;
  T y = node("OneHot", {at_least_1d(x), depth, g.i64s({0, 1})}, {{"axis", int64_t{-1}}});
  return x.rank() > 0 ? with_rank(y, x.rank() + 1) : squeeze(with_rank(y, 2), {0});
}

constexpr Lowering table[] = {
    op<index_select>("aten::index_select(Tensor self, int dim, Tensor index) -> Tensor"),
    op<gather_elements>(
        "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor"),
    op<take>("aten::take(Tensor self, Tensor index) -> Tensor"),
    op<take_along_dim>(
        "aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor"),
    op<masked_select>("aten::masked_select(Tensor self, Tensor mask) -> Tensor"),
    op<nonzero>(names("aten::nonzero", "aten::argwhere"), "(Tensor self) -> Tensor"),
    op<nonzero_tuple>("aten::nonzero_numpy(Tensor self) -> Tensor[]"),
    op<nonzero_tuple>("aten::where(Tensor condition) -> Tensor[]"),
    op<nonzero_static>(
        "aten::nonzero_static(Tensor self, *, SymInt size, int fill_value=-1) -> Tensor"),
    op<one_hot>("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor"),
};

}  // namespace

Table gather_rows() { return table; }

}  // namespace oe::lower
