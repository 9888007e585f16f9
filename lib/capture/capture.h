// Stage: module + example inputs + dynamic axes -> functional typed program.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/capture/capture_options.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"
#include "lib/support/origin.h"
#include "lib/torch/inputs.h"

namespace oe::capture {

// A tensor or number of the model that is an input and an output (--state=io).
struct PersistentState {
  std::string attribute;  // "rnn.hidden", "states.0"
  size_t input, output;   // of the program
  OriginPtr origin;       // of the last line that sets it; may be null
};

// An attribute that the method writes and that is not an input yet.
struct FoundState {
  std::string path;
  OriginPtr origin;
};

struct Captured {
  program::Program program;
  std::vector<std::string> assumptions;  // e.g. a branch that could run in no world
  // Shapes of the input leaves in each world that LibTorch accepted; [0] is the example.
  std::vector<std::vector<std::vector<int64_t>>> worlds;
  std::vector<PersistentState> state;
  std::vector<FoundState> found;  // none once capture() is done
};

// Whether an operator of the program (with overload) can be lowered. A constant result of one that
// cannot is folded, whatever --fold-limit specifies.
using Writable = std::function<bool(std::string_view)>;

// LibTorch rejects the example, or the model raises an exception on it.
struct InputsRefused : Failure {
  InputsRefused(std::string code, const std::string& message, OriginPtr origin = nullptr)
      : Failure(ExitCode::Refused, std::move(code), message, "", std::move(origin)) {}
};

// How the model was executed in one attempt, and why it ended, for -v.
using OnAttempt = std::function<void(const std::string& how, const std::string& ended)>;

// With --state=io, the attributes that the method writes are added to `inputs`, and their axes that
// may have another size in the next call become dynamic.
Captured capture(const torch_io::Loaded& m, torch_io::ExampleInputs& inputs,
                 const CaptureOptions& o, const Writable& writable, Diagnostics& d,
                 const OnAttempt& on_attempt = {});

}  // namespace oe::capture
