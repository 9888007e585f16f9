// What capture knows of each LibTorch operator: effect, out-of-place twin, how its axes come about.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace oe::capture {

struct AxisRow;

struct OpInfo {
  const torch::jit::Operator* op = nullptr;  // owned by LibTorch's registry
  const c10::FunctionSchema* schema = nullptr;
  std::string name;               // with overload: "aten::add.Tensor"
  std::string base;               // without: "aten::add"
  std::string recorded;           // the name in the program: of numbers the overload for any kind
  const AxisRow* axes = nullptr;  // how they come about (axes/axes.h); null: no table names it
  bool pointwise = false;         // by LibTorch's tag: the result is the broadcast of the inputs
  bool random = false;            // draws random numbers
  torch::jit::Function* composite = nullptr;  // what it is made of (composites.h); null: itself
  bool users = false;                         // the composite is a rule of the user
  bool missing = false;                       // a stand-in for an operator that is not here
  int written = -1;                // index of the argument an in-place operator writes; -1: none
  int outs = 0;                    // number of trailing out= arguments
  bool metadata_in_place = false;  // unsqueeze_, t_, ...: changes the view, not the elements
  const OpInfo* twin = nullptr;    // the functional operator that gives the new values
  // For each parameter of the twin the argument it gets, -1: its default. Empty: one by one.
  std::vector<int> twin_arguments;

  // The name without namespace and overload: "add".
  std::string_view method() const { return std::string_view(base).substr(base.find("::") + 2); }
};

// What a run has learned of operators. References stay valid as long as it lives.
class Operators {
 public:
  const OpInfo& of(const torch::jit::Operator& op);
  // Throws Failure(Unsupported) for unknown names, which are with overload.
  const OpInfo& named(const std::string& name);

 private:
  std::unordered_map<const torch::jit::Operator*, std::unique_ptr<OpInfo>> known_;
  std::unordered_map<std::string, const OpInfo*> by_name_;
};

// Whether a result of the operator (named without overload) is a view by the operator's meaning.
bool is_view_operator(const std::string& base);

}  // namespace oe::capture
