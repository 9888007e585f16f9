// What becomes of every operator: opsets/operators.tsv, as the golden cases measured it, in the
// binary. Standard library only.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace oe::opsets {

struct OperatorFacts {
  struct Range {
    int64_t first = 0, last = 0;  // opsets, both included
    std::string_view operators;   // of ONNX: "Mul Sub"; "-": nothing is left of it
  };
  std::string_view name;       // "aten::add.Tensor"
  std::string_view signature;  // "(Tensor self, Tensor other) -> Tensor"
  // "lowered" to ONNX operators, "composed" of other operators, of another "library" and composed.
  std::string_view kind;
  int64_t since = 0;  // the lowest opset at which a case of it converts; 0: no case measures it
  int64_t every_since =
      0;  // the lowest at which all cases of it alone do; 0: it has none of its own
  std::vector<Range> becomes;  // in its simplest case
  std::string_view refused;    // what is; may be empty
};

// Ascending by name.
const std::vector<OperatorFacts>& operators();

// "aten::add" of "aten::add.Tensor".
std::string_view operator_name(std::string_view overload);

}  // namespace oe::opsets
