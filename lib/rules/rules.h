// Rules of the user: how an operator is written, in addition to lib/lower's tables or instead of
// them. Standard library only; other components parse the texts of other languages in them.
//
//   # A node of another domain. Parameters are the operator's arguments, by position.
//   custom_ops::foo_forward (input1, input2, attr1, attr2) => (y) opset 9
//   {
//     y = custom_domain.Foo <attr1: float = @attr1, attr2: int = @attr2> (input1, input2)
//   }
//   # An ONNX function (opset 15 and up) in a domain with a version.
//   aten::selu (X) => (Y) opset 15 function onnx-script:2
//   {
//     ...
//   }
//   # TorchScript: the operator is composed of others.
//   lib::twice torchscript
//     def twice(x: Tensor) -> Tensor:
//       return x + x
//   # An operator whose library is missing; the expression returns results of the right types and
//   # sizes, with arbitrary numbers.
//   schema lib::bar(Tensor x, int n) -> Tensor = x.new_empty([x.size(0), n])
//
// The text between braces is the body of a function in ONNX's text syntax. "@name" is a constant
// argument as an attribute; a plain name is a tensor, also for a constant that is used as a tensor.
// An operator without overload matches all of its overloads. A rule applies from its opset on, up
// to the next rule of the same operator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace oe::rules {

struct Place {
  std::string file;
  int line = 0;  // 1-based
};

struct NodesRule {
  std::string op;                                // "aten::selu" or "aten::selu.out"
  std::vector<std::string> parameters, results;  // names in `body`
  int64_t opset = 0;
  std::string domain;   // and name of the function, "onnx-script.Selu"; empty: the nodes are
                        // inlined in the graph
  int64_t version = 1;  // of that domain
  std::string body;     // with braces, preceded by lines and blanks so that positions are those
                        // of the file
  Place place;
};

struct ScriptRule {
  std::string op;
  std::string text;  // "def twice(x: Tensor) -> Tensor: ...", positions as in the file
  Place place;
};

struct Schema {
  std::string op;          // "lib::bar" or "lib::bar.out"
  std::string text;        // "lib::bar(Tensor x, int n) -> Tensor"
  std::string expression;  // TorchScript over the arguments' names
  Place place;
};

struct Rules {
  std::vector<NodesRule> nodes;
  std::vector<ScriptRule> scripts;
  std::vector<Schema> schemas;

  // The rule that applies at `opset` to "aten::add.Tensor": a rule for the overload before one for
  // the operator, a newer rule before an older one. Null if there is none.
  const NodesRule* find(std::string_view op, int64_t opset) const;
};

// Reads the rule files and --custom-schema texts ("@FILE": schema lines). Throws
// Failure(Usage) with file, line and column.
Rules read(const std::vector<std::string>& files, const std::vector<std::string>& schemas);

}  // namespace oe::rules
