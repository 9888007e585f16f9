// x[i, :, mask, ..] with tensors among the indices: read, write, and write that accumulates.
// https://onnx.ai/onnx/operators/onnx__GatherND.html
#include <algorithm>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

bool is_mask(Emit& g, Value v) { return g.dtype(v) == DType::Bool || g.dtype(v) == DType::UInt8; }

// The index tensors of a call, masks as the places where they hold, and what they index.
struct Selection {
  Ints axes;             // of x, ascending: one for each index tensor
  Ints others;           // the remaining axes of x
  Values indices;        // int64 in their common shape; empty when `mask` is the only index
  Value mask = nullptr;  // the only index, when it is a mask
  int64_t rank = 0;      // of the common shape
  bool in_place = true;  // the axes are neighbours: the result has the common shape there,
                         // otherwise at its front

  Selection(Emit& g, Value x, const Values& given);
  // [common shape.., axes]: the coordinates of every element on the indexed axes.
  Value coordinates(Emit& g) const;
  Value common_shape(Emit& g, Value coordinates) const;
  // The indexed axes first, the others after them.
  Ints front() const;
  // From [common shape.., others..] to the result's order of axes, and back.
  Ints to_result() const;
};

Selection::Selection(Emit& g, Value x, const Values& given) {
  int64_t axis = 0;
  Values rows;
  const auto count = std::count_if(given.begin(), given.end(), [](Value v) { return v; });
  for (Value v : given) {
    if (!v) {
      ++axis;
      continue;
    }
    if (!is_mask(g, v)) {
      rows.push_back(g.cast(v, DType::Int64));
      axes.push_back(axis++);
      continue;
    }
    const int64_t n = g.rank(v);
    if (n == 0) throw Unsupported("an index that is a 0-d mask");
    Value m = g.cast(v, DType::Bool);
    if (count == 1) mask = m;
    Value places = count == 1 ? nullptr : with_rank(g.node("NonZero", {m}), 2);
    for (int64_t i = 0; i < n; ++i) {
      if (places) rows.push_back(entry(g, places, 0, known(i)));
      axes.push_back(axis++);
    }
  }
  for (int64_t i = 0; i < g.rank(x); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) others.push_back(i);
  in_place = !axes.empty() && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  rank = 1;
  if (mask) return;
  indices = broadcast(g, rows);
  if (!indices.empty()) rank = g.rank(indices[0]);
}

Value Selection::coordinates(Emit& g) const {
  if (mask)
    return with_dims(g.node("Transpose", {g.node("NonZero", {mask})}, {{"perm", Ints{1, 0}}}),
                     {Dim::unknown(), Dim::of(g.rank(mask))});
  Values columns;
  for (Value v : indices) columns.push_back(unsqueezed(g, v, {rank}));
  return joined(g, columns, rank);
}

Value Selection::common_shape(Emit& g, Value coordinates) const {
  return mask ? sizes(g, coordinates, 0, 1) : g.shape(indices[0]);
}

Ints Selection::front() const {
  Ints perm = axes;
  perm.insert(perm.end(), others.begin(), others.end());
  return perm;
}

Ints Selection::to_result() const {
  const int64_t before = in_place ? axes.front() : 0;
  Ints perm = range(rank, rank + before);
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  for (int64_t i = rank + before; i < rank + static_cast<int64_t>(others.size()); ++i)
    perm.push_back(i);
  return perm;
}

Ints inverse(const Ints& perm) {
  Ints out(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return out;
}

Value index(Emit& g, Value x, const Values& given) {
  const Selection s(g, x, given);
  if (s.axes.empty()) return x;
  if (s.axes.size() == 1) {
    if (!s.mask) return taken(g, x, s.indices[0], s.axes[0]);
    std::vector<Dim> dims = *x->type.shape;
    dims[static_cast<size_t>(s.axes[0])] = Dim::unknown();
    return with_dims(g.node("Compress", {x, s.mask}, {{"axis", s.axes[0]}}), std::move(dims));
  }
  const auto out_rank = s.rank + static_cast<int64_t>(s.others.size());
  Value y = g.node("GatherND", {permuted(g, x, s.front()), s.coordinates(g)});
  return permuted(g, with_rank(y, out_rank), s.to_result());
}

// x[mask] = v where v is the same for every place of the mask needs no places.
std::optional<Value> masked_write(Emit& g, Value x, const Selection& s, Value v, bool accumulate) {
  if (!s.mask) return std::nullopt;
  const int64_t after = g.rank(x) - s.axes.back() - 1;
  if (g.rank(v) == after + 1 && g.dim(v, 0) == 1)
    v = squeezed(g, v, {0});
  else if (g.rank(v) > after)
    return std::nullopt;
  Ints trailing;
  for (int64_t i = 0; i < after; ++i) trailing.push_back(g.rank(s.mask) + i);
  Value mask = unsqueezed(g, s.mask, trailing);
  if (accumulate) v = g.dtype(x) == DType::Bool ? g.node("Or", {x, v}) : g.node("Add", {x, v});
  return with_dims(g.node("Where", {mask, v, x}), *x->type.shape);
}

Value index_put(Emit& g, Value x, const Values& given, Value values, bool accumulate) {
  const DType t = g.dtype(x);
  const Selection s(g, x, given);
  values = g.cast(values, t);
  if (s.axes.empty()) {
    Value v = expanded(g, values, g.shape(x), g.rank(x));
    if (!accumulate) return v;
    return t == DType::Bool ? g.node("Or", {x, v}) : g.node("Add", {x, v});
  }
  if (auto y = masked_write(g, x, s, values, accumulate)) return *y;

  Value coordinates = s.coordinates(g);
  const int64_t before = s.in_place ? s.axes.front() : 0;
  const auto rest = static_cast<int64_t>(s.others.size());
  // The others' sizes, those before the indexed axes apart from those after them.
  Value base = permuted(g, x, s.front());
  const auto k = static_cast<int64_t>(s.axes.size());
  Values pieces;
  if (before > 0) pieces.push_back(sizes(g, base, k, k + before));
  pieces.push_back(s.common_shape(g, coordinates));
  if (rest > before) pieces.push_back(sizes(g, base, k + before, k + rest));
  Value v = expanded(g, values, concat(g, pieces, 0), s.rank + rest);
  v = permuted(g, v, inverse(s.to_result()));

  ir::Attributes a;
  if (accumulate) a.set("reduction", std::string("add"));
  Value y;
  if (accumulate && t == DType::Bool) {  // adding bools is "or"
    y = g.node("ScatterND", {g.cast(base, DType::Int32), coordinates, g.cast(v, DType::Int32)},
               std::move(a));
    y = g.cast(y, DType::Bool);
  } else {
    y = g.node("ScatterND", {base, coordinates, v}, std::move(a));
  }
  return permuted(g, with_dims(y, *base->type.shape), inverse(s.front()));
}

constexpr auto index_lambda = [](Emit& g, Value x, Values indices) { return index(g, x, indices); };
constexpr auto put_lambda = [](Emit& g, Value x, Values indices, Value values, bool accumulate) {
  return index_put(g, x, indices, values, accumulate);
};
constexpr auto put_impl_lambda = [](Emit& g, Value x, Values indices, Value values, bool accumulate,
                                    Skip) { return index_put(g, x, indices, values, accumulate); };

constexpr Lowering table[] = {
    op("aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_lambda),
    op("aten::index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor", index_lambda),
    op("aten::_unsafe_index.Tensor(Tensor self, Tensor?[] indices) -> Tensor", index_lambda),
    op("aten::_unsafe_index.Tensor_hacked_twin(Tensor self, Tensor[] indices) -> Tensor",
       index_lambda),
    op("aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
       put_lambda),
    op("aten::index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
       put_lambda),
    op("aten::_unsafe_index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
       put_lambda),
    op("aten::_unsafe_index_put.hacked_twin(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor",
       put_lambda),
    op("aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor",
       put_impl_lambda),
};

}  // namespace

Table index_rows() { return table; }

}  // namespace oe::lower
