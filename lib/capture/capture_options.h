// The options of capture, from the command line.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "lib/support/left_out.h"

namespace oe {

enum class CaptureMode { Auto, Script, Trace };
// --state=discard, outputs, io: attributes that the method writes are dropped, are outputs, or are
// inputs and outputs.
enum class State { Discard, Outputs, InputsAndOutputs };

struct CaptureOptions {
  CaptureMode mode = CaptureMode::Auto;
  int64_t unroll = 64;  // longest loop of a known number of iterations that is unrolled
  State state = State::Discard;
  // A result of constants that is larger than its operands and than this (bytes) is recorded, not
  // folded; nullopt: every result of tensors is recorded.
  std::optional<int64_t> fold_limit = 1 << 20;
  std::vector<LeftOut> left_out;  // set by the supervisor when it repeats a run
};

}  // namespace oe
