// Operators that write their arguments: in place, and into out=.
#pragma once

#include <optional>
#include <vector>

#include "lib/capture/operators/operators.h"
#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

class Writes {
 public:
  explicit Writes(Executor& ex) : ex_(ex) {}

  // The results of an operator that writes one of its arguments; nothing for other operators.
  std::optional<std::vector<AbstractValue>> call(const OpInfo& op,
                                                 const std::vector<AbstractValue>& args);

 private:
  TensorValuePtr conform(const AbstractValue& v, const TensorValuePtr& target);
  AbstractValue cast_like(const AbstractValue& v, const TensorValuePtr& like);
  std::vector<AbstractValue> call_twin(const OpInfo& op, const std::vector<AbstractValue>& args,
                                       const AbstractValue& target);
  std::vector<AbstractValue> call_in_place(const OpInfo& op,
                                           const std::vector<AbstractValue>& args);
  std::vector<AbstractValue> call_out(const OpInfo& op, const std::vector<AbstractValue>& args);
  std::vector<AbstractValue> call_with_statistics(const OpInfo& op,
                                                  const std::vector<AbstractValue>& args);
  void embedding_renorm(const std::vector<AbstractValue>& args);
  // --- resize.cpp
  bool has_sizes(const AbstractValue& tensor, const std::vector<AbstractValue>& sizes);
  void move(const AbstractValue& target, const AbstractValue& now, bool kept);
  void resize(const AbstractValue& target, const std::vector<AbstractValue>& sizes);
  bool resizes(const OpInfo& op, const std::vector<AbstractValue>& args);
  void fill_diagonal(const AbstractValue& target, const AbstractValue& value, bool wrap);

  Executor& ex_;
};

}  // namespace oe::capture
