// A module traced in train mode has train mode in it as constants; here it becomes one for
// inference.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <map>
#include <string>

namespace oe::torch_io {

bool in_train_mode(const torch::jit::Module& m);

// Whether a method of `m`, or of a module inside it, reads `self.training`.
bool asks_for_mode(const torch::jit::Module& m);

// Rewrites the graphs of every module that was in train mode when it was traced, as tracing it in
// eval mode would have recorded them: no dropout, running statistics used and not updated. What
// self.training decided in Python cannot be told from the graph and stays. Returns how many calls
// of each operator were rewritten.
std::map<std::string, int> rewrite_for_inference(const torch::jit::Module& traced);

}  // namespace oe::torch_io
