// Several pieces of one tensor: split, chunk, tensor_split, unbind.
// https://onnx.ai/onnx/operators/onnx__Split.html
#include <algorithm>
#include <numeric>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// How many pieces the model takes; a list whose length is not known is one ONNX sequence.
bool is_sequence(Call& g) {
  return g.call().outputs.size() == 1 &&
         g.call().outputs[0]->type.kind == program::Type::Kind::List;
}
int64_t pieces(Call& g) { return static_cast<int64_t>(g.call().outputs.size()); }

Values static_split(T x, int64_t axis, const Ints& sizes) {
  if (sizes.empty()) return {};
  Values out = split(x, axis, sizes);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == x) continue;
    std::vector<Dim> dims = *x->type.shape;
    dims[static_cast<size_t>(axis)] = Dim::of(sizes[i]);
    with_dims(out[i], std::move(dims));
  }
  return out;
}

// Pieces between neighbouring bounds; the first one starts at 0.
Values between(T x, int64_t axis, const Dims& ends) {
  Values out;
  Int start = known(0);
  for (const Int& end : ends) {
    out.push_back(slice(x, axis, start, end));
    start = end;
  }
  return out;
}

// Pieces of `size`, the last one perhaps shorter. Of an empty axis there are `least`, all empty,
// while SplitToSequence would give none.
Values sequence_of(Call& g, T x, const Int& total, const Int& size, const Int& least, Axis axis) {
  const Int empty = known(1) - min(total, known(1));
  const T starts = arange(g.value(ceil_div(total, size) + empty * least)) * g.value(size);
  const T lengths = maximum(minimum(g.value(total) - starts, g.value(size)), 0);
  return {node("SplitToSequence", {x, lengths}, {{"axis", axis.value}})};
}

Values split_by(Call& g, T x, const Int& size, Axis axis) {
  x = at_least_1d(x);
  const Int total = size_of(x, axis);
  if (is_sequence(g)) return sequence_of(g, x, total, size, known(1), axis);
  const int64_t n = pieces(g);
  if (n == 1) return {x};
  if (total.known && size.known) {
    Ints sizes;
    for (int64_t at = 0; at < *total.known; at += *size.known)
      sizes.push_back(std::min(*size.known, *total.known - at));
    return static_split(x, axis, sizes);
  }
  Dims ends;
  for (int64_t i = 1; i <= n; ++i) ends.push_back(i == n ? known(kEnd) : size * known(i));
  return between(x, axis, ends);
}

Values split_sizes(Call& g, T x, const Dims& sizes, Axis axis) {
  if (is_sequence(g))
    return {node("SplitToSequence", {x, g.vector(sizes)}, {{"axis", axis.value}})};
  if (all_known(sizes)) return static_split(x, axis, g.known(sizes, "split_sizes"));
  Dims ends;
  Int at = known(0);
  for (const Int& s : sizes) ends.push_back(at = at + s);
  return between(x, axis, ends);
}

Values chunk(Call& g, T x, const Int& chunks, Axis axis) {
  const Int total = size_of(x, axis);
  const Int size = ceil_div(total, chunks);
  if (is_sequence(g)) return sequence_of(g, x, total, max(size, known(1)), chunks, axis);
  // An empty axis gives all chunks, each empty.
  if (total.known == 0) return static_split(x, axis, Ints(static_cast<size_t>(pieces(g)), 0));
  return split_by(g, x, size, axis);
}

Values tensor_split(T x, int64_t sections, Axis axis) {
  const Int total = size_of(x, axis);
  if (total.known) {
    Ints sizes;
    for (int64_t i = 0; i < sections; ++i)
      sizes.push_back(*total.known / sections + (i < *total.known % sections));
    return static_split(x, axis, sizes);
  }
  // The first total % sections pieces are one longer.
  const Int size = floor_div(total, sections);
  const Int longer = modulo(total, known(sections));
  Dims ends;
  for (int64_t i = 1; i < sections; ++i) ends.push_back(size * known(i) + min(longer, known(i)));
  ends.push_back(known(kEnd));
  return between(x, axis, ends);
}

Values split_at(T x, Dims indices, Axis axis) {
  indices.push_back(known(kEnd));
  return between(x, axis, indices);
}

Values split_by_tensor(Call& g, T x, T at, Axis axis) {
  const int64_t n = pieces(g);
  if (at.rank() == 0) return tensor_split(x, n, axis);
  Dims indices;
  for (int64_t i = 0; i + 1 < n; ++i)
    indices.push_back(computed(entry(cast(at, DType::Int64), 0, known(i))));
  return split_at(x, indices, axis);
}

Values unbind(Call& g, T x, Axis axis) {
  if (is_sequence(g))
    return {node("SplitToSequence", {x}, {{"axis", axis.value}, {"keepdims", int64_t{0}}})};
  Values out;
  for (int64_t i = 0; i < pieces(g); ++i) out.push_back(entry(x, axis, known(i)));
  return out;
}

// hsplit works on the second axis where there is one.
Axis horizontal(T x) { return {x.rank() == 1 ? 0 : 1}; }

constexpr Lowering table[] = {
    op<split_by>(names("aten::split.Tensor", "aten::unsafe_split.Tensor"),
                 "(Tensor self, SymInt split_size, int dim=0) -> Tensor[]"),
    op<split_sizes>("aten::split.sizes(Tensor self, SymInt[] split_size, int dim=0) -> Tensor[]"),
    op<split_sizes>(names("aten::split_with_sizes", "aten::unsafe_split_with_sizes",
                          "aten::split_with_sizes_copy"),
                    "(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]"),
    op<chunk>(names("aten::chunk", "aten::unsafe_chunk"),
              "(Tensor self, int chunks, int dim=0) -> Tensor[]"),
    op<tensor_split>(
        "aten::tensor_split.sections(Tensor self, SymInt sections, int dim=0) -> Tensor[]"),
    op<split_at>(
        "aten::tensor_split.indices(Tensor self, SymInt[] indices, int dim=0) -> Tensor[]"),
    op<split_by_tensor>(
        "aten::tensor_split.tensor_indices_or_sections(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]"),
    op("aten::hsplit.int(Tensor self, int sections) -> Tensor[]",
       [](T x, int64_t n) { return tensor_split(x, n, horizontal(x)); }),
    op("aten::hsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](T x, const Dims& at) { return split_at(x, at, horizontal(x)); }),
    op("aten::vsplit.int(Tensor self, int sections) -> Tensor[]",
       [](T x, int64_t n) { return tensor_split(x, n, {0}); }),
    op("aten::vsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](T x, const Dims& at) { return split_at(x, at, {0}); }),
    op("aten::dsplit.int(Tensor self, int sections) -> Tensor[]",
       [](T x, int64_t n) { return tensor_split(x, n, {2}); }),
    op("aten::dsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](T x, const Dims& at) { return split_at(x, at, {2}); }),
    op<unbind>(names("aten::unbind.int", "aten::unbind_copy.int"),
               "(Tensor self, int dim=0) -> Tensor[]"),
};

}  // namespace

Table split_rows() { return table; }

}  // namespace oe::lower
