// The differences between two models.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::ir {

struct Difference {
  std::string kind;               // "opset", "input", "output", "operators", "node", "weight"
  std::string name;               // of what differs
  std::string left, right;        // as each has it; empty: it has none
  std::optional<double> largest;  // of a weight: the largest difference of two elements
};

// In the order: opsets, inputs, outputs, operators, nodes, weights. Nodes are matched by name if
// both models have it, the others by operator and order; nested graphs are compared as their nodes.
// Names of values between nodes are ignored, but not their connections. Weights are matched by
// name.
std::vector<Difference> diff(Model& left, Model& right);

}  // namespace oe::ir
