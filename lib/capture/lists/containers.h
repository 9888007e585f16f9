// Operators on lists, dicts and tuples whose length is known.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

class Containers {
 public:
  explicit Containers(Executor& ex) : ex_(ex) {}

  // The results of an operator that takes containers, open lists included; nothing where it is to
  // be run like any other.
  std::optional<std::vector<AbstractValue>> call(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args,
                                                 torch::jit::Node* n);

  // A method of a list; nothing where it is none.
  std::optional<std::vector<AbstractValue>> list_call(const OpInfo& op,
                                                      const std::vector<AbstractValue>& args);

 private:
  using Outputs = std::optional<std::vector<AbstractValue>>;

  // --- containers.cpp
  struct Operators;
  Outputs list_operator(const OpInfo& op, const std::vector<AbstractValue>& args);
  AbstractValue tolist(const std::vector<AbstractValue>& args, torch::jit::Node* n);

  // --- lists.cpp
  struct ListMethods;
  std::vector<AbstractValue> change_constant_list(const OpInfo& op,
                                                  const std::vector<AbstractValue>& args);

  // --- list_values.cpp
  struct ByValue;
  Outputs by_value(const OpInfo& op, const std::vector<AbstractValue>& args);

  // --- dicts.cpp
  struct DictMethods;
  Outputs dict_call(const OpInfo& op, const std::vector<AbstractValue>& args);

  Executor& ex_;
};

}  // namespace oe::capture
