// Places of diagonals and strided windows in flattened tensors, for reading and for writing back.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

// The diagonal `offset` of two axes of a tensor.
struct Diagonal {
  Diagonal(T x, int64_t offset, int64_t axis1, int64_t axis2);
  // [.., rows * columns]: both axes moved last and made one. Its rank is rank - 1.
  T flattened(T x) const;
  // flattened -> the axes as they were in x.
  T restored(T y) const;
  // Places on the last axis of flattened, 1-d int64, first to last.
  T places(Builder& g) const;

  int64_t rank;
  Ints perm;  // of x, with the two axes last
  Int rows, columns, length, start;
};

// Places in the flat tensor of every element of an as_strided view: int64 in shape `size`.
T strided_places(Call& g, const Dims& size, const Dims& stride, const Int& offset);

}  // namespace oe::lower
