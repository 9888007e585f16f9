// How one attempt executes the model, and how it ended.
#pragma once

#include <cstdint>
#include <exception>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/capture/attempts/sizes.h"
#include "lib/capture/capture.h"
#include "lib/capture/control/assumed.h"
#include "lib/torch/load.h"

namespace oe::capture {

// The parts of a capture that are the same in every attempt.
struct Job {
  const torch_io::Loaded& module;
  const torch_io::ExampleInputs& inputs;
  const CaptureOptions& options;
  const Writable& writable;
  const std::vector<DynamicAxis>& axes;
};

// One run of the model among those that are executed side by side.
struct World {
  std::vector<int64_t> sizes;  // of the dynamic axes
  std::optional<size_t> of;    // it has the inputs of this other world, and enters loops elsewhere
  Iterations entry;
  Variation variation = {};                // of every input that was drawn
  std::optional<size_t> alternative = {};  // it has the values of this further example
};

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

struct Attempt {
  // Autograd records the calls, so that the model can ask whether a tensor requires a gradient.
  bool autograd = false;
  // Lists keep whose memory their elements are, which costs more than copies do.
  bool views = false;
  // Longest loop of a known number of iterations that is unrolled; longer ones are kept.
  int64_t unroll = kNoLimit;
  // Which of the other sizes of each axis (sizes.h) its second world has.
  size_t round = 0;
  // Whether a world has every axis at its smallest size.
  bool smallest = true;
  // Code that no world reaches is run on values of the right type.
  bool made_up = false;
};

// "loops up to 64 unrolled, autograd on, lists of views, made-up values, other sizes 2"
std::string text(const Attempt& a);

enum class Ended {
  Captured,
  Refused,           // by LibTorch, or by a rule that no other attempt changes
  Unsupported,       // ONNX cannot express it, or not in this form
  NeedsAutograd,     // Attempt::autograd
  NeedsViews,        // Attempt::views
  NeedsMadeUp,       // Attempt::made_up
  NeedsOtherSizes,   // an axis did not run at another size than the example's
  NeedsUnrolling,    // a loop that was kept left something unknown: Attempt::unroll
  MissingOperators,  // the model calls an operator that nobody registered
};
std::string_view name(Ended e);

struct Outcome {
  Ended ended = Ended::Captured;
  std::string why;  // the message that ended it; empty where it captured
  std::optional<Captured> captured;
  std::exception_ptr failure;  // a Failure; null where it captured
  Diagnostics diagnostics;
  size_t worlds = 0;         // of the last run
  bool loops_kept = false;   // loops longer than Attempt::unroll were met and kept
  bool smallest_ran = true;  // false: the world of smallest sizes died
};

}  // namespace oe::capture
