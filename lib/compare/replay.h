// A program run by LibTorch, node by node: what each of its values is for given inputs.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

#include "lib/program/program.h"

namespace oe::capture {

// A result of a node at the top of the program.
struct Replayed {
  const program::Node* node = nullptr;
  const program::Value* value = nullptr;
  TensorPtr tensor;  // numbers as 0-d tensors
};

// One run of a block: of the program's body, or of a branch or an iteration.
struct BlockRun {
  // The results of the nodes at its top, in order, tensors and numbers.
  std::vector<Replayed> steps;
  // Tensors and numbers from outside that the block uses, its parameters among them. Constants are
  // not in it.
  std::map<const program::Value*, TensorPtr> outside;
};

// Runs the program. `inputs`: one a port. Gives the runs of `block`, at most `most` of them, in
// order. Ends early at a node that LibTorch refuses, or that is none of its operators; what came
// before is right.
std::vector<BlockRun> replay(const program::Program& p, const std::vector<TensorPtr>& inputs,
                             const program::Block& block, size_t most = 1);

// The values that a block uses and does not compute, its parameters first; no constants.
std::vector<program::Value*> outside_values(const program::Block& b);

}  // namespace oe::capture
