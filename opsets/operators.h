// The ONNX form of every operator: opsets/operators.tsv, as measured by the golden cases, compiled
// into the program. Standard library only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace oe::opsets {

struct OperatorFacts {
  struct Range {
    int64_t first = 0, last = 0;  // opsets, both included
    std::string_view operators;   // of ONNX: "Mul Sub"; "-": no node remains
  };
  std::string_view name;       // "aten::add.Tensor"
  std::string_view signature;  // "(Tensor self, Tensor other) -> Tensor"
  // "lowered" to ONNX operators, "composed" of other operators, of another "library" and composed.
  std::string_view kind;
  int64_t since = 0;  // the lowest opset at which a case of it converts; 0: no case measures it
  int64_t every_since =
      0;  // the lowest at which all cases of it alone do; 0: it has none of its own
  std::vector<Range> becomes;  // in its simplest case
  std::string_view refused;    // what is refused; may be empty
};

// Ascending by name.
const std::vector<OperatorFacts>& operators();

// Facts about an operator's derivative inside a model: opsets/derivatives.tsv.
struct DerivativeFacts {
  std::string_view name;  // "aten::add.Tensor"; of what is not covered: PyTorch's name of the test
  // "rule"; "parts": through the operators that it consists of; or "first refused", "second wrong"
  // and so on, by the order of the derivative ("both").
  std::string_view kind;
  std::string_view about;  // the arguments with a rule, or why it is not covered
};

// Ascending by name.
const std::vector<DerivativeFacts>& derivatives();

// "aten::add" of "aten::add.Tensor".
std::string_view operator_name(std::string_view overload);

}  // namespace oe::opsets
