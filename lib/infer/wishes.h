// What an operator that refused its arguments would have taken.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

#include "lib/infer/shape_run.h"

namespace oe::infer {

// One tensor among the operands, as it would do.
struct Wish {
  size_t operand = 0;
  int element = -1;  // of an operand that is a list
  std::vector<int64_t> sizes;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  // Instead of `sizes`: it needs a multiple of so many elements. 0: it does not.
  int64_t multiple_of = 0;
};

// Asks the operator itself, which costs nothing without numbers: each operand that was made of an
// input, with other element types, sizes and ranks, taken from the other operands. Simplest first.
std::vector<Wish> wishes_of(const Stop& stop, Mask unknown);

// The tensor that a wish is about, as it is; undefined where there is none.
at::Tensor tensor_at(const std::vector<Cell>& operands, size_t operand, int element);

}  // namespace oe::infer
