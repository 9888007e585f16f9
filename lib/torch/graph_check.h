// Operators of a model are checked on its compiled graphs, before anything of the model runs.
#pragma once

#include <torch/csrc/jit/api/compilation_unit.h>
#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/torch/origins.h"

namespace oe::torch_io {

class GraphCheck {
 public:
  // `file`: the model, as messages name it.
  explicit GraphCheck(std::string file) : file_(std::move(file)) {}

  // Looks at every function and method of the unit that an earlier call has not seen, nested
  // blocks and subgraphs included. LibTorch's importer compiles all that a type names before it
  // returns the type: call it then. Throws Failure(Refused, OE0141) that names each operator that
  // may not run (lib/torch/allowed_operators.h) with its source lines; so does every later call.
  // Casts are made to check what they state (lib/torch/value_types.h).
  void check(const torch::jit::CompilationUnit& unit);
  // The same for a class that a pickle names, and for its hooks.
  void check(const torch::jit::CompilationUnit& unit, const c10::TypePtr& type);

 private:
  struct Use {
    std::string_view why;
    size_t count = 0;
    std::vector<std::string> places;  // the first ones
  };

  void look_at(torch::jit::Function& f);
  void look_at(const torch::jit::Block& block);
  void look_at(const torch::jit::Graph& graph);
  void look_at(const torch::jit::Node& node);
  void refuse(const torch::jit::Node& node, const std::string& what, std::string_view why);
  void throw_refused() const;

  std::string file_;
  size_t looked_at_ = 0;  // functions of the unit
  std::unordered_set<const torch::jit::Function*> seen_;
  std::unordered_map<c10::Symbol, std::string_view> verdicts_;
  std::map<std::string, Use> refused_;  // by operator
  Origins origins_;
};

}  // namespace oe::torch_io
