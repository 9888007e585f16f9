// The symbolic executor: interprets TorchScript in several worlds at once and records the program.
//
// It consists of the objects of a run. Each accesses the others through it:
//   Worlds        the runs of the model that are executed side by side
//   Site          the running node, for messages
//   Heap          cells, scopes, and cells that may be the same
//   Recorder      the program that is written
//   Operators     facts about LibTorch's operators
//   Assumed       assumptions of the program
//   Values        inputs, constants, the model's own values (values.cpp, state.cpp)
//   Apply         operators: run, type, record, fold (apply.cpp, arguments.cpp, taint.cpp, axes/)
//   MadeUp        values for code that no example reaches
//   Quantized     quantized tensors, of which the program has the integers (quantized.cpp)
//   Views         reading and writing through views (views.cpp, write_back.cpp, strides.cpp), and
//                 tensors that alias one of two (aliases.cpp)
//   Writes        in-place and out= operators (in_place.cpp)
//   Containers    lists, dicts and tuples (containers.cpp, lists.cpp, dicts.cpp)
//   Contents, OpenLists   lists whose length is not known at export (open_*.cpp)
//   ViewList      lists of views (view_list.cpp, view_list_methods.cpp)
//   Control       If and Loop: taken, unrolled or kept (control_flow.cpp, kept_if.cpp,
//                 kept_loop.cpp, iterations.cpp)
//   Gradient      the tape, and torch.autograd.grad and backward() on it (gradient_*.cpp)
//   Interpreter   functions, blocks, instructions (interpreter.cpp, instructions.cpp, inlined.cpp,
//                 lifetimes.cpp)
// A branch or an iteration ends with a Snapshot (snapshot.cpp). A Joiner merges it (join.cpp), or a
// LoopState carries it (loop_state.cpp).
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "lib/capture/capture.h"
#include "lib/capture/control/assumed.h"
#include "lib/capture/control/control.h"
#include "lib/capture/gradients/gradient.h"
#include "lib/capture/lists/containers.h"
#include "lib/capture/lists/open_lists.h"
#include "lib/capture/memory/view_list.h"
#include "lib/capture/memory/views.h"
#include "lib/capture/memory/writes.h"
#include "lib/capture/operators/apply.h"
#include "lib/capture/operators/operators.h"
#include "lib/capture/operators/quantized.h"
#include "lib/capture/script/interpreter.h"
#include "lib/capture/values/abstract_value.h"
#include "lib/capture/values/heap.h"
#include "lib/capture/values/made_up.h"
#include "lib/capture/values/recorder.h"
#include "lib/capture/values/site.h"
#include "lib/capture/values/values.h"
#include "lib/capture/values/worlds.h"

namespace oe::capture {

// How a model is executed.
struct Plan {
  std::vector<Iterations> entries;  // the iteration at which each world enters kept loops
  // What each world tries (lib/support/trial.h); empty for the user's own sizes.
  std::vector<std::string> trials;
  CaptureMode mode = CaptureMode::Auto;
  // Loops of a known number of iterations are unrolled up to this many.
  int64_t unroll = std::numeric_limits<int64_t>::max();
  // A result of constants that is larger than its operands and than this (bytes) is recorded, not
  // folded; nullopt: every result of tensors is recorded.
  std::optional<int64_t> fold_limit;
  // Lists record which memory their elements view; otherwise elements are copies and not writable.
  bool places = false;
  // Code that no world reaches runs on made-up values.
  bool made_up = false;
  // Whether an operator can be recorded at all.
  Writable writable;
};

class Executor {
 public:
  Executor(program::Program& p, Plan how) : plan(std::move(how)), recorder(p) {}
  Executor(const Executor&) = delete;

  const Plan plan;
  Recorder recorder;
  Site site{recorder};
  Heap heap{site};
  Worlds worlds{plan.entries.size()};
  Operators operators;
  Assumed assumed{site};
  Values values{*this};
  Apply apply{*this, plan};
  MadeUp made_up{*this, plan};
  Quantized quantized{*this};
  Views views{*this};
  Writes writes{*this};
  Containers containers{*this};
  Contents contents{*this};
  OpenLists open_lists{*this};
  ViewList places{*this};
  Control control{*this, plan};
  Gradient gradient{*this};
  Interpreter interpreter{*this};
};

}  // namespace oe::capture
