// Functions and blocks of TorchScript: what runs when, and how long values live.
#pragma once

#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>

#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

using JitNode = torch::jit::Node;
using JitBlock = torch::jit::Block;
using JitValue = torch::jit::Value;

// The model's own `raise`, met while running.
struct Raised {
  std::string message;
};

// A function that runs.
struct Frame {
  std::unordered_map<const JitValue*, AbstractValue> values;
  std::string path;    // of the module whose method runs
  ModuleCallPtr call;  // of that module; null in the top one
  // Parameters and results of calls that are constants once LibTorch has inlined the calls.
  std::unordered_map<const JitValue*, JitNode*> constants;

  const AbstractValue& get(const JitValue* v) const;
  std::vector<AbstractValue> inputs_of(const JitNode* n) const;
  void set(const JitNode* n, std::vector<AbstractValue> outputs);
};

class Interpreter {
 public:
  explicit Interpreter(Executor& ex) : ex_(ex) {}

  // Runs a method of a module; `args` without self.
  AbstractValue run_method(const AbstractValue& self, const std::string& method,
                           std::vector<AbstractValue> args);
  AbstractValue run_function(torch::jit::Function& f, std::vector<AbstractValue> args,
                             const std::string& path, const ModuleCallPtr& call);
  // Whether anything reads what the Loop carries in that place, in its body or behind it. What
  // nothing reads is None everywhere: it ties no memory to other.
  bool is_carried(const JitNode* loop, size_t i) const;
  // The variables that nothing uses behind the node.
  const std::vector<const JitValue*>& dead_after(const JitNode* n) const;
  std::optional<AbstractValue> run_built_in(torch::jit::Function& f,
                                            const std::vector<AbstractValue>& args);
  std::vector<AbstractValue> run_block(JitBlock* b, std::vector<AbstractValue> params, Frame& f);
  // The nodes of `b` from `first` on; its results.
  std::vector<AbstractValue> run_nodes(JitBlock* b, JitNode* first, Frame& f);
  // A call of an operator as TorchScript makes it, effects included. `n`: the node that makes it,
  // if the model has one.
  std::vector<AbstractValue> call_operator(const OpInfo& op, const std::vector<AbstractValue>& args,
                                           JitNode* n = nullptr);
  // The first result of the operator with that name.
  AbstractValue call_operator(const std::string& op, const std::vector<AbstractValue>& args);
  // An operator that is made of others (composites.h), as the function that says so; nothing for
  // other operators, and for constants.
  std::optional<std::vector<AbstractValue>> call_composite(const OpInfo& op,
                                                           const std::vector<AbstractValue>& args);

 private:
  torch::jit::Function* composite_for(const OpInfo& op, const std::vector<AbstractValue>& args);
  bool knows_sorted_table(const OpInfo& op, const std::vector<AbstractValue>& args);
  struct Instruction;
  void run_node(JitNode* n, Frame& f);
  std::optional<std::vector<AbstractValue>> along_computed_axis(
      const OpInfo& op, const std::vector<AbstractValue>& args, JitNode* n);
  std::optional<std::vector<AbstractValue>> by_computed_flag(const OpInfo& op,
                                                             const std::vector<AbstractValue>& args,
                                                             JitNode* n);
  std::optional<AbstractValue> known_of_tensor(const OpInfo& op,
                                               const std::vector<AbstractValue>& args);
  // --- bounds.cpp: what the declared bounds of dynamic axes say
  std::optional<AbstractValue> known_by_bounds(const OpInfo& op,
                                               const std::vector<AbstractValue>& args);
  std::optional<std::vector<AbstractValue>> call_squeeze(const OpInfo& op,
                                                         const std::vector<AbstractValue>& args);
  // --- pools.cpp
  std::optional<std::vector<AbstractValue>> call_pool(const OpInfo& op,
                                                      const std::vector<AbstractValue>& args);
  // --- ranks.cpp: what a condition decides of ranks and numbers
  std::optional<std::vector<AbstractValue>> call_by_rank(const OpInfo& op,
                                                         const std::vector<AbstractValue>& args,
                                                         JitNode* n);
  std::optional<std::vector<AbstractValue>> call_like_other(const OpInfo& op,
                                                            const std::vector<AbstractValue>& args);
  std::optional<std::vector<AbstractValue>> call_by_number(const OpInfo& op,
                                                           const std::vector<AbstractValue>& args);
  // Refused where the function has no TorchScript code.
  JitBlock* code_of(torch::jit::Function& f);
  AbstractValue run_code(JitBlock* block, std::vector<AbstractValue> args, Frame& frame);
  AbstractValue constant_node(JitNode* n, const std::string& path);
  // The results of the block where the nodes after the If went into its branches; else nothing.
  std::optional<std::vector<AbstractValue>> run_if(JitNode* n, Frame& f);

  // --- autocast.cpp: the code of a method of the model, with what its autocast regions cast
  JitBlock* with_casts(torch::jit::Function& method, const c10::ClassType& self);

  // --- lifetimes.cpp
  void analyse_lifetimes(JitBlock* b);
  void analyse_reads(JitBlock* function);
  void note_readers(JitBlock* b, std::vector<const JitValue*>& read);
  bool is_left(const JitBlock* b, size_t i) const;

  // --- inlined.cpp
  // A call, whose last inputs are the arguments.
  void run_callee(JitNode* n, Frame& f, torch::jit::Function& callee,
                  std::vector<AbstractValue> args, const std::string& path,
                  const ModuleCallPtr& call);
  const OpInfo& with_number_operand(const OpInfo& op, const JitNode* n, const Frame& f,
                                    std::vector<AbstractValue>& args);

  Executor& ex_;
  std::unordered_map<const JitNode*, std::vector<const JitValue*>> dead_after_;
  std::unordered_set<const JitBlock*> analysed_;
  std::unordered_set<const JitValue*> read_;
  std::unordered_map<const JitNode*, AbstractValue> constants_;
  std::shared_ptr<torch::jit::Graph> rewritten_;
};

// A region that chooses element types (autocast.cpp).
bool is_autocast(const c10::Type& t);

}  // namespace oe::capture
