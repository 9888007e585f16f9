// Functional operators: run by LibTorch in every world, typed, then recorded or folded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;
struct Plan;

// The model asks whether a computed tensor requires a gradient: only autograd knows.
struct AsksAutograd {};

class Apply {
 public:
  Apply(Executor& ex, const Plan& plan) : ex_(ex), plan_(plan) {}

  // Runs a functional operator in every active world; the results are fresh. `list_length`: length
  // that a list result must have, -1 when open.
  std::vector<AbstractValue> operator()(const OpInfo& op, const std::vector<AbstractValue>& args,
                                        int list_length = -1);
  // The result of the operator with that name (with overload).
  AbstractValue operator()(const std::string& op, const std::vector<AbstractValue>& args);

  // A value as an argument: what LibTorch gets in a world, and what is recorded.
  c10::IValue value(const AbstractValue& s, size_t world);
  bool truth(const AbstractValue& s, size_t world) { return value(s, world).toBool(); }
  program::Arg arg(const AbstractValue& s);
  // A number that has to be a constant; `what` it is, for the refusal.
  int64_t known_int(const AbstractValue& s, const char* what);

  // What a value, and what the result of an operator, may change with.
  Taint taint_of(const AbstractValue& s);
  Taint content_taint(const OpInfo& op, const std::vector<AbstractValue>& args);

  // Numbers of the graph.
  AbstractValue size_of(const AbstractValue& tensor, int64_t axis);
  AbstractValue sizes_of(const AbstractValue& tensor);
  // Of a tensor whose rank a condition decides; nothing of others.
  std::optional<AbstractValue> rank_of(const AbstractValue& tensor);
  AbstractValue numel_of(const AbstractValue& tensor);
  Axis fresh_axis(Taint t);

  // LibTorch, or the model, refuses to go on in world w.
  void fail(size_t w, const std::string& message);

  // Runs LibTorch's own operator for nothing but its errors: worlds where it refuses have failed.
  void attempt(const OpInfo& op, const std::vector<AbstractValue>& args) {
    run_in_all(op, args, -1);
  }
  // Whether two calls may give other results.
  bool is_random(const OpInfo& op, const std::vector<AbstractValue>& args) const;

 private:
  // A call whose results are made into values.
  struct Call {
    const OpInfo& op;
    const std::vector<AbstractValue>& args;
    Taint taint;
    bool folded = false;
    program::Node* node = nullptr;  // null: nothing is recorded
    bool unpacked = false;          // a list that has to have a certain length
  };
  std::optional<AbstractValue> agreed_size(const TensorValue& t, int64_t axis);
  std::optional<torch::jit::Stack> run_in(size_t w, const OpInfo& op,
                                          const std::vector<AbstractValue>& args, int list_length);
  std::optional<torch::jit::Stack> ask(const OpInfo& op, torch::jit::Stack stack, int list_length,
                                       std::string& refusal);
  std::vector<PerWorld> run_once(const OpInfo& op, const std::vector<AbstractValue>& args,
                                 int list_length);
  std::vector<PerWorld> run_in_all(const OpInfo& op, const std::vector<AbstractValue>& args,
                                   int list_length);
  bool stays_computed(const OpInfo& op, const PerWorld& out,
                      const std::vector<AbstractValue>& args);
  void require_known_types(const OpInfo& op, const std::vector<AbstractValue>& args);
  bool rank_known(const OpInfo& op, const std::vector<AbstractValue>& args);
  std::vector<Axis> infer_axes(const OpInfo& op, const std::vector<AbstractValue>& args,
                               const PerWorld& c, size_t index);
  TensorValuePtr typed(const Call& call, PerWorld c, size_t index);
  AbstractValue make_output(const Call& call, PerWorld c, size_t index);
  AbstractValue tensor_output(const Call& call, PerWorld c, size_t index);
  AbstractValue list_output(const Call& call, const PerWorld& c);

  Executor& ex_;
  const Plan& plan_;
};

}  // namespace oe::capture
