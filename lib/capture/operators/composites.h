// Operators that LibTorch defines by others, as TorchScript: composites/*.py, one function each.
// A name that begins with _ and is no operator's is the file's own. The line `ceil = floor` gives
// an operator the function of another one with the same parameters.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace torch::jit {
struct Function;
}

namespace oe::capture {

// The function for "aten::trapezoid.x" (trapezoid__x in the files); null when there is none. Its
// parameters are the operator's, in order.
torch::jit::Function* composite(const std::string& op);
// What an operator's arguments have to be for a function to stand for it.
// Derivative: the name is an operator's and one of its arguments' (aten::mul.Tensor__other), the
// function the product of the gradient of its result with its Jacobian (gradient.h).
// Differentiated: stands for the operator where it is differentiated and has no such functions.
enum class CompositeOf : uint8_t {
  Anything,
  Quantized,
  Integers,
  Complex,
  Computed,
  Unsorted,
  Derivative,
  Differentiated
};
inline constexpr std::array kCompositeOf = {CompositeOf::Anything,   CompositeOf::Quantized,
                                            CompositeOf::Integers,   CompositeOf::Complex,
                                            CompositeOf::Computed,   CompositeOf::Unsorted,
                                            CompositeOf::Derivative, CompositeOf::Differentiated};
// The function for the operator where an argument is a tensor that is quantized or of complex
// numbers or names a complex type, where its first tensor is of integers, where a number among
// its arguments is computed, or where the table that it searches is not known to be sorted.
torch::jit::Function* composite_of(CompositeOf of, const std::string& op);

// All that stand for an operator, with its name.
struct Composite {
  std::string op;
  torch::jit::Function* function;
};
std::vector<Composite> composites();
std::vector<Composite> composites(CompositeOf of);

// A file: the namespace of its operators, what it is about, and its content. Null at the end.
struct CompositeText {
  const char* name_space;
  CompositeOf of;
  const char* text;
};
extern const CompositeText kCompositeTexts[];

// Of a line `ceil = floor`: {"ceil", "floor"}; empty for any other.
std::pair<std::string, std::string> composite_alias(const std::string& line);

}  // namespace oe::capture
