// What an operator that refused its arguments would have taken.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <vector>

#include "lib/infer/shape_run.h"

namespace oe::infer {

constexpr int kEach = -2;

// One tensor among the operands, as it would do.
struct Wish {
  size_t operand = 0;
  int element = -1;  // of an operand that is a list; kEach: of each element
  std::vector<int64_t> sizes;
  c10::ScalarType dtype = c10::ScalarType::Undefined;
  // Instead of `sizes`: it needs so many elements, or a multiple of them. 0: it does not.
  int64_t elements = 0;
  bool multiple = false;
};

// Asks the operator itself, which costs nothing without numbers: each operand that was made of an
// input, with other element types, sizes and ranks, taken from the other operands. Simplest first.
// `attempts` is raised by how often it was asked. Operators may end the process at sizes that they
// do not check: the note of lib/support/trial.h says which one was asked.
std::vector<Wish> wishes_of(const Stop& stop, Mask unknown, int64_t& attempts);

// A message without its numbers: two that agree complain of the same. No message is read for what
// it says.
std::string outline(const std::string& message);

// The tensor that a wish is about, as it is; undefined where there is none.
at::Tensor tensor_at(const std::vector<Cell>& operands, size_t operand, int element);

// "fc1 (linear) takes ?x48, model.py:20": what was not asked for is '?'.
std::string takes(const Stop& stop, const Wish& w);
std::string takes(const Stop& stop, const std::string& what);

}  // namespace oe::infer
