// Inputs that nobody described, found in the file itself.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "lib/options.h"
#include "lib/support/origin.h"
#include "lib/torch/load.h"

namespace oe::infer {

struct Found {
  std::vector<InputSpec> specs;  // all inputs, in place of Options::inputs
  bool guessed = false;          // something of them is no one else's word
  std::string problem;           // why nothing was found; empty: it was
};

// What is known of the inputs, completed. Tensors are tried without data, so that it takes
// milliseconds.
Found find_inputs(const Options& o, const torch_io::Loaded& m);

}  // namespace oe::infer
