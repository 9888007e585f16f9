// Operators whose arguments tell what an input is: an index into a table, a number that divides.
#pragma once

#include <ATen/core/stack.h>

#include <cstdint>
#include <optional>
#include <string>

namespace oe::infer {

// An integer tensor that chooses among `count`: the operand `index`.
struct Choosing {
  size_t index;
  int64_t count;
};

// Nothing where the operator does not choose, or the count is not known.
std::optional<Choosing> choosing(const std::string& op, const torch::jit::Stack& arguments);

// The number of a scalar, or of a tensor of one element that has data; else 0.
double number_in(const c10::IValue& v);

}  // namespace oe::infer
