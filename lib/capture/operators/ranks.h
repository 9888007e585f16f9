// Tensors whose rank a condition decided: operators on them are taken apart by it.
#pragma once

#include <vector>

#include "lib/capture/values/abstract_value.h"

namespace oe::capture {

class Executor;

// What a tensor is that is `a` where the condition holds and `b` where it does not; null where that
// says no more than the tensor itself.
std::shared_ptr<const RankChoice> rank_choice(const AbstractValue& guard, const TensorValue& a,
                                              const TensorValue& b);

// The condition that decides the rank of the first argument of which one does; null: of none.
const AbstractValue* rank_guard(Executor& ex, const std::vector<AbstractValue>& args);

// The arguments where that condition is `holds`: with ranks, and with the numbers and sizes that
// follow from it.
std::vector<AbstractValue> args_by_rank(Executor& ex, const std::vector<AbstractValue>& args,
                                        const AbstractValue& guard, bool holds);

}  // namespace oe::capture
