// Stage: module + example inputs + dynamic axes -> functional typed program.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/program/program.h"
#include "lib/support/diagnostics.h"
#include "lib/support/origin.h"
#include "lib/torch/inputs.h"

namespace oe::capture {

// A tensor or number of the model's that is an input and an output (--state=io).
struct CarriedState {
  std::string attribute;  // "rnn.hidden", "states.0"
  size_t input, output;   // of the program
  OriginPtr origin;       // of the last line that sets it; may be null
};

// An attribute that the method writes and that is no input yet.
struct FoundState {
  std::string path;
  OriginPtr origin;
};

struct Captured {
  program::Program program;
  std::vector<std::string> assumptions;  // e.g. a branch that could run in no world
  // Shapes of the input leaves in each world that LibTorch accepted; [0] is the example.
  std::vector<std::vector<std::vector<int64_t>>> worlds;
  std::vector<CarriedState> state;
  std::vector<FoundState> found;  // none once capture() is done
};

// Whether an operator of the program (with overload) can be written. What cannot be is folded where
// it is constant, whatever --fold-limit says.
using Writable = std::function<bool(std::string_view)>;

// With --state=io what the method writes is added to `inputs`, and axes of it that the next call
// may find at another size are dynamic.
Captured capture(const torch_io::Loaded& m, torch_io::ExampleInputs& inputs, const Options& o,
                 const Writable& writable, Diagnostics& d);

}  // namespace oe::capture
