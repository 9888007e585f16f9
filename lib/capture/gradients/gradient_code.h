// What a log of calls did, as TorchScript that can run again.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "lib/capture/executor.h"
#include "lib/capture/gradients/gradient.h"

namespace oe::capture {

// Writes the calls of a log into a graph. What was recorded before the log began becomes a
// parameter of the graph when it is first needed.
class GradientCode {
 public:
  GradientCode(Executor& ex, std::function<bool(const GradientEntry&)> flows, int first_value,
               int last_value);

  // A parameter that stands for a value of the log.
  void parameter(const AbstractValue& s);
  // The calls that the results need.
  void write(const GradientLog& log, const std::vector<AbstractValue>& results);
  // The value in the graph. Throws Failure (OE4063) for one that no call of the log gives.
  torch::jit::Value* value(const AbstractValue& s);
  // The graph with these results, as a tuple.
  std::shared_ptr<torch::jit::Graph> finish(const std::vector<AbstractValue>& results);
  // What the parameters stand for that value() has added, in order.
  const std::vector<AbstractValue>& outside() const { return outside_; }

 private:
  using Keys = std::unordered_set<const void*>;
  void add_key(const AbstractValue& s, Keys& keys) const;
  void add_taken(const GradientEntry& e, Keys& keys) const;
  void call(const GradientEntry& e);
  void branches(const GradientEntry& e);
  void loop(const GradientEntry& e);
  torch::jit::Value* add_parameter(const AbstractValue& s);
  torch::jit::Value* list(const AbstractValue& s);
  void stands_for(const AbstractValue& s, torch::jit::Value* v);
  const void* key(const AbstractValue& s) const;
  [[noreturn]] void refuse(const std::string& what) const;

  Executor& ex_;
  std::function<bool(const GradientEntry&)> flows_;  // whether a gradient flows through the call
  int first_value_, last_value_;
  std::shared_ptr<torch::jit::Graph> graph_;
  std::unordered_map<const void*, torch::jit::Value*> made_;   // in this block
  std::unordered_map<const void*, torch::jit::Value*> taken_;  // parameters for outside_
  std::vector<AbstractValue> outside_;
};

// The function `loop` of the text, which may call the graph as _body; without a text the graph
// itself. The same code is the same function, as runs compare branches by their nodes.
torch::jit::Function& function_of(const std::shared_ptr<torch::jit::Graph>& body,
                                  const std::string& text);

// The type of a tensor or number in TorchScript, and how it is written.
c10::TypePtr type_in_code(const AbstractValue& s);

}  // namespace oe::capture
