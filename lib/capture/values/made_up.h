// Values for what no example reaches: of the right type, and otherwise anything.
//
// A branch that every world fails in is recorded all the same, as a compiler would: from types. The
// last world that is left goes on there, although it never comes there. Where LibTorch refuses what
// it has, it gets other values of the same type (element type, rank, sizes that never change) that
// LibTorch takes. What is recorded holds for all values of these types, so it holds for the real
// ones. After the branch the world has its own values back.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;
struct Plan;

class MadeUp {
 public:
  using Run = std::function<std::optional<torch::jit::Stack>(torch::jit::Stack)>;

  MadeUp(Executor& ex, const Plan& plan) : ex_(ex), plan_(plan) {}

  // Whether world w goes on with what it does not have: it is the only one left in a branch or body
  // to which it does not really come.
  bool wanted(size_t w) const;
  // What the operator gives for other arguments of the types of `args`; nothing where none of those
  // that were tried did. `stack`: the arguments that it refused.
  std::optional<torch::jit::Stack> call(size_t w, const std::vector<AbstractValue>& args,
                                        const torch::jit::Stack& stack, const Run& run);
  // A value that world w lacks.
  c10::IValue of(const AbstractValue& number);
  c10::IValue of(const TensorValuePtr& t, size_t w);

  // Gives back what was replaced since `mark`.
  size_t mark() const { return replaced_.size(); }
  void take_back(size_t mark);

 private:
  struct Replaced {
    TensorValuePtr tensor;
    size_t world;
    c10::IValue before;
  };
  void replace(const TensorValuePtr& t, size_t w, c10::IValue by);

  Executor& ex_;
  const Plan& plan_;
  std::vector<Replaced> replaced_;
};

}  // namespace oe::capture
