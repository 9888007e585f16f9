// Places of diagonals and strided windows in flattened tensors.
#include "lib/lower/aten/strided.h"

namespace oe::lower::shape {

Diagonal::Diagonal(Emit& g, Value x, int64_t offset, int64_t dim1, int64_t dim2) {
  rank = g.rank(x);
  const int64_t a = g.axis(x, dim1), b = g.axis(x, dim2);
  for (int64_t i = 0; i < rank; ++i)
    if (i != a && i != b) perm.push_back(i);
  perm.push_back(a);
  perm.push_back(b);
  rows = nn::dim(g, x, a);
  columns = nn::dim(g, x, b);
  length = offset >= 0 ? min(g, rows, sub(g, columns, known(offset)))
                       : min(g, add(g, rows, known(offset)), columns);
  length = max(g, length, known(0));
  start = offset >= 0 ? known(offset) : mul(g, columns, known(-offset));
}

Value Diagonal::flattened(Emit& g, Value x) const {
  return reshape_to(g, permuted(g, x, perm), {mul(g, rows, columns)}, rank - 2);
}

Value Diagonal::restored(Emit& g, Value y) const {
  Ints inverse(perm.size());
  for (size_t i = 0; i < perm.size(); ++i)
    inverse[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  return permuted(g, reshape_to(g, y, {rows, columns}, rank - 2), inverse);
}

Value Diagonal::places(Emit& g) const {
  if (length.known && start.known && columns.known) {
    Ints all;
    for (int64_t i = 0; i < *length.known; ++i)
      all.push_back(*start.known + i * (*columns.known + 1));
    return g.i64s(all);
  }
  Value step = g.to_value(add(g, columns, known(1)));
  return with_rank(add(g, mul(g, iota(g, length), step), g.to_value(start)), 1);
}

Value strided_places(Emit& g, const Dims& size, const Dims& stride, const Int& offset) {
  const auto rank = static_cast<int64_t>(size.size());
  if (g.all_known(size) && g.all_known(stride) && offset.known) {
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
  Value places = g.to_value(offset);
  for (int64_t d = 0; d < rank; ++d) {
    const auto i = static_cast<size_t>(d);
    Value steps = mul(g, iota(g, size[i]), g.to_value(stride[i]));
    places = add(g, places, along(g, steps, d, rank));
  }
  return with_rank(places, rank);
}

}  // namespace oe::lower::shape
