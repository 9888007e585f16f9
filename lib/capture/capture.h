// Stage: module + example inputs + dynamic axes -> functional typed program.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/program/program.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/inputs.h"

namespace oe::capture {

struct Captured {
  program::Program program;
  std::vector<std::string> assumptions;  // e.g. a branch that could run in no world
  // Shapes of the input leaves in each world that LibTorch accepted; [0] is the example.
  std::vector<std::vector<std::vector<int64_t>>> worlds;
};

// Whether an operator of the program (with overload) can be written. What cannot be is folded where
// it is constant, whatever --fold-limit says.
using Writable = std::function<bool(std::string_view)>;

Captured capture(const torch_io::Loaded& m, const torch_io::ExampleInputs& inputs, const Options& o,
                 const Writable& writable, Diagnostics& d);

}  // namespace oe::capture
