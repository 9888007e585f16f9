// A program run by LibTorch, node by node: what each of its values is for given inputs.
#pragma once

#include <string>
#include <vector>

#include "lib/program/program.h"

namespace oe::capture {

// A result of a node at the top of the program.
struct Replayed {
  const program::Node* node = nullptr;
  const program::Value* value = nullptr;
  TensorPtr tensor;  // numbers as 0-d tensors
};

// The results of the nodes at the top of the program, in order, tensors and numbers. `inputs`: one
// a port of the program. Ends early at a node that LibTorch refuses, or that is none of its
// operators; what came before is right.
std::vector<Replayed> replay(const program::Program& p, const std::vector<TensorPtr>& inputs);

}  // namespace oe::capture
