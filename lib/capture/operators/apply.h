// Functional operators: run by LibTorch in every world, typed, then recorded or folded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/sym.h"

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
  std::vector<Sym> operator()(const OpInfo& op, const std::vector<Sym>& args, int list_length = -1);
  // The result of the operator with that name (with overload).
  Sym operator()(const std::string& op, const std::vector<Sym>& args);

  // A value as an argument: what LibTorch gets in a world, and what is recorded.
  c10::IValue value(const Sym& s, size_t world);
  bool truth(const Sym& s, size_t world) { return value(s, world).toBool(); }
  program::Arg arg(const Sym& s);
  // A number that has to be a constant; `what` it is, for the refusal.
  int64_t known_int(const Sym& s, const char* what);

  // What a value, and what the result of an operator, may change with.
  Taint taint_of(const Sym& s);
  Taint content_taint(const OpInfo& op, const std::vector<Sym>& args);

  // Numbers of the graph.
  Sym size_of(const Sym& tensor, int64_t axis);
  Sym sizes_of(const Sym& tensor);
  // Of a tensor whose rank a condition decides; nothing of others.
  std::optional<Sym> rank_of(const Sym& tensor);
  Sym numel_of(const Sym& tensor);
  Axis fresh_axis(Taint t);

  // LibTorch, or the model, refuses to go on in world w.
  void fail(size_t w, const std::string& message);

  // Runs LibTorch's own operator for nothing but its errors: worlds where it refuses have failed.
  void attempt(const OpInfo& op, const std::vector<Sym>& args) { run_in_all(op, args, -1); }

 private:
  // A call whose results are made into values.
  struct Call {
    const OpInfo& op;
    const std::vector<Sym>& args;
    Taint taint;
    bool folded = false;
    program::Node* node = nullptr;  // null: nothing is recorded
    bool unpacked = false;          // a list that has to have a certain length
  };
  std::optional<Sym> agreed_size(const TensorValue& t, int64_t axis);
  std::optional<torch::jit::Stack> run_in(size_t w, const OpInfo& op, const std::vector<Sym>& args,
                                          int list_length);
  std::optional<torch::jit::Stack> ask(const OpInfo& op, torch::jit::Stack stack, int list_length,
                                       std::string& refusal);
  std::vector<PerWorld> run_once(const OpInfo& op, const std::vector<Sym>& args, int list_length);
  std::vector<PerWorld> run_in_all(const OpInfo& op, const std::vector<Sym>& args, int list_length);
  bool stays_computed(const OpInfo& op, const PerWorld& out, const std::vector<Sym>& args);
  bool is_random(const OpInfo& op, const std::vector<Sym>& args) const;
  void require_known_types(const OpInfo& op, const std::vector<Sym>& args);
  bool rank_known(const OpInfo& op, const std::vector<Sym>& args);
  std::vector<Axis> infer_axes(const OpInfo& op, const std::vector<Sym>& args, const PerWorld& c,
                               size_t index);
  TensorValuePtr typed(const Call& call, PerWorld c, size_t index);
  Sym make_output(const Call& call, PerWorld c, size_t index);
  Sym tensor_output(const Call& call, PerWorld c, size_t index);
  Sym list_output(const Call& call, const PerWorld& c);

  Executor& ex_;
  const Plan& plan_;
};

}  // namespace oe::capture
