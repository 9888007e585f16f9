// Places of diagonals and strided windows in flattened tensors, for reading and for writing back.
#pragma once

#include "lib/lower/aten/shape_build.h"

namespace oe::lower::shape {

// The diagonal `offset` of the axes dim1 and dim2 of a tensor.
struct Diagonal {
  Diagonal(Emit& g, Value x, int64_t offset, int64_t dim1, int64_t dim2);
  // [.., rows * columns]: both axes moved last and made one. Its rank is rank - 1.
  Value flattened(Emit& g, Value x) const;
  // flattened -> the axes as they were in x.
  Value restored(Emit& g, Value y) const;
  // Places on the last axis of flattened, 1-d int64, first to last.
  Value places(Emit& g) const;

  int64_t rank;
  Ints perm;  // of x, with dim1 and dim2 last
  Int rows, columns, length, start;
};

// Places in the flat tensor of every element of an as_strided view: int64 in shape `size`.
Value strided_places(Emit& g, const Dims& size, const Dims& stride, const Int& offset);

}  // namespace oe::lower::shape
