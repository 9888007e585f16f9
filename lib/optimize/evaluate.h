// Evaluation of standard operators on constant tensors, with the exact semantics of their element
// types. Whatever is not exact, or not defined (division by zero, a cast out of range), is refused.
#pragma once

#include <optional>
#include <span>

#include "lib/ir/ir.h"

namespace oe::optimize {

// The inputs of a node as constants; null where an optional input is left out.
using Inputs = std::vector<TensorPtr>;

// One tensor an output; empty when the node is not evaluated. A result over `limit` bytes is not
// computed. `n` follows the newest opset.
std::vector<TensorPtr> evaluate(const ir::Node& n, const Inputs& in, int64_t limit);

// An operator of one output: null when it is not evaluated.
using Evaluator = TensorPtr (*)(const ir::Node& n, const Inputs& in, int64_t limit);
struct EvaluatorRow {
  std::string_view op;
  Evaluator run;
};
std::span<const EvaluatorRow> elementwise_evaluators();  // evaluate_elementwise.cpp
std::span<const EvaluatorRow> reduction_evaluators();    // evaluate_reduce.cpp
std::span<const EvaluatorRow> movement_evaluators();     // evaluate_movement.cpp
TensorPtr evaluate_cast(const ir::Node& n, const Inputs& in, int64_t limit);  // evaluate_cast.cpp

// Helpers of the evaluators.
bool fits(const std::vector<int64_t>& dims, DType t, int64_t limit);
// The axes input, normalised and sorted; empty when it is absent, nothing when an axis is out of
// range or given twice.
std::optional<ir::Ints> axes_of(const TensorPtr& axes, int64_t rank);

}  // namespace oe::optimize
