// Several pieces of one tensor: split, chunk, tensor_split, unbind.
// https://onnx.ai/onnx/operators/onnx__Split.html
#include <algorithm>
#include <numeric>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

// How many pieces the model takes; a list whose length is not known is one ONNX sequence.
bool is_sequence(Emit& g) {
  return g.call().outputs.size() == 1 &&
         g.call().outputs[0]->type.kind == program::Type::Kind::List;
}
int64_t pieces(Emit& g) { return static_cast<int64_t>(g.call().outputs.size()); }

Values static_split(Emit& g, Value x, int64_t axis, const Ints& sizes) {
  if (sizes.empty()) return {};
  Values out = nn::split(g, x, axis, sizes);
  for (size_t i = 0; i < out.size(); ++i) {
    if (out[i] == x) continue;
    std::vector<Dim> dims = *x->type.shape;
    dims[static_cast<size_t>(axis)] = Dim::of(sizes[i]);
    with_dims(out[i], std::move(dims));
  }
  return out;
}

// Pieces between neighbouring bounds; the first one starts at 0.
Values between(Emit& g, Value x, int64_t axis, const Dims& ends) {
  Values out;
  Int start = known(0);
  for (const Int& end : ends) {
    out.push_back(cut(g, x, axis, start, end));
    start = end;
  }
  return out;
}

Values split_by(Emit& g, Value x, int64_t dim, const Int& size) {
  x = at_least_1d(g, x);
  const int64_t axis = g.axis(x, dim);
  const Int total = nn::dim(g, x, axis);
  if (is_sequence(g)) return {g.node("SplitToSequence", {x, g.to_value(size)}, {{"axis", axis}})};
  const int64_t n = pieces(g);
  if (n == 1) return {x};
  if (total.known && size.known) {
    Ints sizes;
    for (int64_t at = 0; at < *total.known; at += *size.known)
      sizes.push_back(std::min(*size.known, *total.known - at));
    return static_split(g, x, axis, sizes);
  }
  Dims ends;
  for (int64_t i = 1; i <= n; ++i) ends.push_back(i == n ? known(kEnd) : mul(g, size, known(i)));
  return between(g, x, axis, ends);
}

Values split_sizes(Emit& g, Value x, const Dims& sizes, int64_t dim) {
  const int64_t axis = g.axis(x, dim);
  if (is_sequence(g)) return {g.node("SplitToSequence", {x, g.to_vector(sizes)}, {{"axis", axis}})};
  if (g.all_known(sizes)) return static_split(g, x, axis, g.known(sizes, "split_sizes"));
  Dims ends;
  Int at = known(0);
  for (const Int& s : sizes) ends.push_back(at = add(g, at, s));
  return between(g, x, axis, ends);
}

Values chunk(Emit& g, Value x, int64_t chunks, int64_t dim) {
  const int64_t axis = g.axis(x, dim);
  const Int total = nn::dim(g, x, axis);
  // An empty axis gives all chunks, each empty.
  if (total.known == 0) return static_split(g, x, axis, Ints(static_cast<size_t>(chunks), 0));
  return split_by(g, x, axis, ceil_div(g, total, known(chunks)));
}

Values tensor_split(Emit& g, Value x, int64_t sections, int64_t dim) {
  const int64_t axis = g.axis(x, dim);
  const Int total = nn::dim(g, x, axis);
  if (total.known) {
    Ints sizes;
    for (int64_t i = 0; i < sections; ++i)
      sizes.push_back(*total.known / sections + (i < *total.known % sections));
    return static_split(g, x, axis, sizes);
  }
  // The first total % sections pieces are one longer.
  const Int size = floor_div(g, total, sections);
  const Int longer = modulo(g, total, known(sections));
  Dims ends;
  for (int64_t i = 1; i < sections; ++i)
    ends.push_back(add(g, mul(g, size, known(i)), min(g, longer, known(i))));
  ends.push_back(known(kEnd));
  return between(g, x, axis, ends);
}

Values split_at(Emit& g, Value x, Dims indices, int64_t dim) {
  indices.push_back(known(kEnd));
  return between(g, x, g.axis(x, dim), indices);
}

Values split_by_tensor(Emit& g, Value x, Value at, int64_t dim) {
  const int64_t n = pieces(g);
  if (g.rank(at) == 0) return tensor_split(g, x, n, dim);
  Dims indices;
  for (int64_t i = 0; i + 1 < n; ++i)
    indices.push_back(from_value(entry(g, g.cast(at, DType::Int64), 0, known(i))));
  return split_at(g, x, indices, dim);
}

Values unbind(Emit& g, Value x, int64_t dim) {
  const int64_t axis = g.axis(x, dim);
  if (is_sequence(g))
    return {g.node("SplitToSequence", {x}, {{"axis", axis}, {"keepdims", int64_t{0}}})};
  Values out;
  for (int64_t i = 0; i < pieces(g); ++i) out.push_back(entry(g, x, axis, known(i)));
  return out;
}

// hsplit works on the second axis where there is one.
int64_t horizontal(Emit& g, Value x) { return g.rank(x) == 1 ? 0 : 1; }

constexpr auto split_lambda = [](Emit& g, Value x, Int size, int64_t dim) {
  return split_by(g, x, dim, size);
};
constexpr auto sizes_lambda = [](Emit& g, Value x, Dims sizes, int64_t dim) {
  return split_sizes(g, x, sizes, dim);
};
constexpr auto chunk_lambda = [](Emit& g, Value x, int64_t chunks, int64_t dim) {
  return chunk(g, x, chunks, dim);
};

constexpr Lowering table[] = {
    op("aten::split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]", split_lambda),
    op("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]",
       split_lambda),
    op("aten::split.sizes(Tensor self, SymInt[] split_size, int dim=0) -> Tensor[]", sizes_lambda),
    op("aten::split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
       sizes_lambda),
    op("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]",
       sizes_lambda),
    op("aten::chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk_lambda),
    op("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", chunk_lambda),
    op("aten::tensor_split.sections(Tensor self, SymInt sections, int dim=0) -> Tensor[]",
       [](Emit& g, Value x, int64_t n, int64_t dim) { return tensor_split(g, x, n, dim); }),
    op("aten::tensor_split.indices(Tensor self, SymInt[] indices, int dim=0) -> Tensor[]",
       [](Emit& g, Value x, Dims at, int64_t dim) { return split_at(g, x, at, dim); }),
    op("aten::tensor_split.tensor_indices_or_sections(Tensor self, Tensor tensor_indices_or_sections, int dim=0) -> Tensor[]",
       [](Emit& g, Value x, Value at, int64_t dim) { return split_by_tensor(g, x, at, dim); }),
    op("aten::hsplit.int(Tensor self, int sections) -> Tensor[]",
       [](Emit& g, Value x, int64_t n) { return tensor_split(g, x, n, horizontal(g, x)); }),
    op("aten::hsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](Emit& g, Value x, Dims at) { return split_at(g, x, at, horizontal(g, x)); }),
    op("aten::vsplit.int(Tensor self, int sections) -> Tensor[]",
       [](Emit& g, Value x, int64_t n) { return tensor_split(g, x, n, 0); }),
    op("aten::vsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](Emit& g, Value x, Dims at) { return split_at(g, x, at, 0); }),
    op("aten::dsplit.int(Tensor self, int sections) -> Tensor[]",
       [](Emit& g, Value x, int64_t n) { return tensor_split(g, x, n, 2); }),
    op("aten::dsplit.array(Tensor self, int[] indices) -> Tensor[]",
       [](Emit& g, Value x, Dims at) { return split_at(g, x, at, 2); }),
    op("aten::unbind.int(Tensor self, int dim=0) -> Tensor[]",
       [](Emit& g, Value x, int64_t dim) { return unbind(g, x, dim); }),
};

}  // namespace

Table split_rows() { return table; }

}  // namespace oe::lower
