// x[i, :, mask, ..] with tensors among the indices: read, write, and write that accumulates.
// https://onnx.ai/onnx/operators/onnx__GatherND.html
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

bool is_mask(T v) { return v.dtype() == DType::Bool || v.dtype() == DType::UInt8; }

// The index tensors of a call, masks as the places where they hold, and what they index.
struct Selection {
  Ints axes;             // of x, ascending: one for each index tensor
  Ints others;           // the remaining axes of x
  Values indices;        // int64 in their common shape; empty when `mask` is the only index
  T mask = nullptr;      // the only index, when it is a mask
  int64_t rank = 0;      // of the common shape
  bool in_place = true;  // the axes are neighbours: the result has the common shape there,
                         // otherwise at its front

  Selection(T x, const Values& given);
  // [common shape.., axes]: the coordinates of every element on the indexed axes.
  T coordinates() const;
  T common_shape(T coordinates) const;
  // The indexed axes first, the others after them.
  Ints front() const;
  // From [common shape.., others..] to the result's order of axes, and back.
  Ints to_result() const;
};

Selection::Selection(T x, const Values& given) {
  int64_t axis = 0;
  Values rows;
  const auto count = std::count_if(given.begin(), given.end(), [](T v) { return v; });
  for (T v : given) {
    if (!v) {
      ++axis;
      continue;
    }
    if (!is_mask(v)) {
      rows.push_back(cast(v, DType::Int64));
      axes.push_back(axis++);
      continue;
    }
    const int64_t n = v.rank();
    if (n == 0) throw Unsupported("an index that is a 0-d mask");
    T m = cast(v, DType::Bool);
    if (count == 1) mask = m;
    T places = count == 1 ? nullptr : with_rank(unary("NonZero", m), 2);
    for (int64_t i = 0; i < n; ++i) {
      if (places) rows.push_back(entry(places, 0, known(i)));
      axes.push_back(axis++);
    }
  }
  for (int64_t i = 0; i < x.rank(); ++i)
    if (std::find(axes.begin(), axes.end(), i) == axes.end()) others.push_back(i);
  in_place = !axes.empty() && axes.back() - axes.front() + 1 == static_cast<int64_t>(axes.size());
  rank = 1;
  if (mask) return;
  indices = broadcast(rows);
  if (!indices.empty()) rank = indices[0].rank();
}

T Selection::coordinates() const {
  if (mask)
    return with_dims(transpose(unary("NonZero", mask), Ints{1, 0}),
                     {Dim::unknown(), Dim::of(mask.rank())});
  Values columns;
  for (T v : indices) columns.push_back(unsqueeze(v, {rank}));
  return concat(columns, rank);
}

T Selection::common_shape(T coordinates) const {
  return mask ? sizes(coordinates, 0, 1) : shape(indices[0]);
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

T index(T x, const Values& given) {
  const Selection s(x, given);
  if (s.axes.empty()) return x;
  if (s.axes.size() == 1) {
    if (!s.mask) return gather(x, s.indices[0], s.axes[0]);
    std::vector<Dim> dims = *x->type.shape;
    dims[static_cast<size_t>(s.axes[0])] = Dim::unknown();
    return with_dims(node("Compress", {x, s.mask}, {{"axis", s.axes[0]}}), std::move(dims));
  }
  const auto out_rank = s.rank + static_cast<int64_t>(s.others.size());
  T y = node("GatherND", {transpose(x, s.front()), s.coordinates()});
  return transpose(with_rank(y, out_rank), s.to_result());
}

// x[mask] = v where v is the same for every place of the mask needs no places.
std::optional<T> masked_write(T x, const Selection& s, T v, bool accumulate) {
  if (!s.mask) return std::nullopt;
  const int64_t after = x.rank() - s.axes.back() - 1;
  if (v.rank() == after + 1 && v.dim(0) == 1)
    v = squeeze(v, {0});
  else if (v.rank() > after)
    return std::nullopt;
  Ints trailing;
  for (int64_t i = 0; i < after; ++i) trailing.push_back(s.mask.rank() + i);
  T mask = unsqueeze(s.mask, trailing);
  if (accumulate) v = x.dtype() == DType::Bool ? x | v : x + v;
  return with_dims(where(mask, v, x), *x->type.shape);
}

T index_put(T x, const Values& given, T values, bool accumulate, Rest) {
  const DType t = x.dtype();
  const Selection s(x, given);
  values = cast(values, t);
  if (s.axes.empty()) {
    T v = expand(values, shape(x), x.rank());
    if (!accumulate) return v;
    return t == DType::Bool ? x | v : x + v;
  }
  if (auto y = masked_write(x, s, values, accumulate)) return *y;

  T coordinates = s.coordinates();
  const int64_t before = s.in_place ? s.axes.front() : 0;
  const auto rest = static_cast<int64_t>(s.others.size());
  // The others' sizes, those before the indexed axes apart from those after them.
  T base = transpose(x, s.front());
  const auto k = static_cast<int64_t>(s.axes.size());
  Values pieces;
  if (before > 0) pieces.push_back(sizes(base, k, k + before));
  pieces.push_back(s.common_shape(coordinates));
  if (rest > before) pieces.push_back(sizes(base, k + before, k + rest));
  T v = expand(values, concat(pieces, 0), s.rank + rest);
  v = transpose(v, inverse(s.to_result()));

  ir::Attributes a;
  if (accumulate) a.set("reduction", std::string("add"));
  // Adding bools is "or"; what adds up narrow floats is not to be had, as for scatter_elements.
  const DType through = !accumulate        ? t
                        : t == DType::Bool ? DType::Int32
                        : narrow_float(t)  ? DType::Float
                                           : t;
  T y = node("ScatterND", {cast(base, through), coordinates, cast(v, through)}, std::move(a));
  y = cast(y, t);
  return transpose(with_dims(y, *base->type.shape), inverse(s.front()));
}

constexpr Lowering table[] = {
    op<index>(names("aten::index.Tensor", "aten::_unsafe_index.Tensor"),
              "(Tensor self, Tensor?[] indices) -> Tensor"),
    op<index>(names("aten::index.Tensor_hacked_twin", "aten::_unsafe_index.Tensor_hacked_twin"),
              "(Tensor self, Tensor[] indices) -> Tensor"),
    op<index_put>(
        names("aten::index_put", "aten::_unsafe_index_put"),
        "(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor"),
    op<index_put>(
        names("aten::index_put.hacked_twin", "aten::_unsafe_index_put.hacked_twin"),
        "(Tensor self, Tensor[] indices, Tensor values, bool accumulate=False) -> Tensor"),
    op<index_put>(
        "aten::_index_put_impl(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False, bool unsafe=False) -> Tensor"),
};

}  // namespace

Table index_rows() { return table; }

}  // namespace oe::lower
