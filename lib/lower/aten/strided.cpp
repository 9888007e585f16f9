// Places of diagonals and strided windows in flattened tensors.
#include "lib/lower/aten/strided.h"

namespace oe::lower {

Diagonal::Diagonal(T x, int64_t offset, int64_t a, int64_t b) {
  rank = x.rank();
  for (int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) perm.push_back(i);
  perm.push_back(a);
  perm.push_back(b);
  rows = size_of(x, a);
  columns = size_of(x, b);
  length = offset >= 0 ? min(rows, columns - known(offset)) : min(rows + known(offset), columns);
  length = max(length, known(0));
  start = offset >= 0 ? known(offset) : columns * known(-offset);
}

T Diagonal::flattened(T x) const {
  return reshape_to(transpose(x, perm), {rows * columns}, rank - 2);
}

T Diagonal::restored(T y) const {
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return transpose(reshape_to(y, {rows, columns}, rank - 2), inverse);
}

T Diagonal::places(Builder& g) const {
  if (length.known && start.known && columns.known) {
    Ints all;
    for (int64_t i = 0; i < *length.known; ++i)
      all.push_back(*start.known + i * (*columns.known + 1));
    return g.i64s(all);
  }
  T step = g.value(columns + known(1));
  return with_rank(g.iota(length) * step + g.value(start), 1);
}

T strided_places(Call& g, const Dims& size, const Dims& stride, const Int& offset) {
  const auto rank = static_cast<int64_t>(size.size());
  if (all_known(size) && all_known(stride) && offset.known) {
    const Ints dims = g.known(size, "size"), steps = g.known(stride, "stride");
    Ints places{*offset.known};
    for (size_t d = 0; d < dims.size(); ++d) {
      Ints finer;
      for (int64_t p : places)
        for (int64_t i = 0; i < dims[d]; ++i) finer.push_back(p + i * steps[d]);
      places = std::move(finer);
    }
    return g.tensor(Tensor::of<int64_t>(DType::Int64, dims, places), "places");
  }
  T places = g.value(offset);
  for (int64_t d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(d);
    T steps = g.iota(size[i]) * g.value(stride[i]);
    places = places + along(steps, d, rank);
  }
  return with_rank(places, rank);
}

}  // namespace oe::lower
