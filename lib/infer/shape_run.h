// A TorchScript method run on tensors without data: which sizes and types it comes through, and
// where it stops.
#pragma once

#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/ir/ir.h>

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "lib/support/origin.h"
#include "lib/torch/load.h"

namespace oe::infer {

using Mask =
    uint64_t;  // the inputs that a value was made of: bit i is input i, the last all beyond

struct Cell {
  c10::IValue value;
  Mask mask = 0;
};

struct Arguments {
  std::vector<Cell> values;                          // one an argument, without self
  std::vector<std::pair<at::Tensor, Mask>> tensors;  // those in them, each with its own mask
};

// The n-th time that a node ran.
struct Site {
  const torch::jit::Node* node = nullptr;
  int64_t nth = 0;
  bool operator==(const Site&) const = default;
};

// Where a run ended before its end.
struct Stop {
  Site site;
  std::vector<Cell> operands;
  std::string message;
  Origin origin;
  std::unordered_map<const torch::jit::Value*, Cell> values;    // of the function that ran
  std::unordered_map<const torch::jit::Node*, int64_t> counts;  // how often each had run
  bool limit = false;                                           // it would have gone on
  // LibTorch would take operand 0 as a single example, where a batch of them, of this rank, is
  // usual. 0: it would not.
  int64_t usual_rank = 0;
};

// An integer tensor that chooses among `count` rows, entries or classes.
struct Choice {
  Mask mask = 0;  // inputs whose numbers it was made of, not their sizes
  int64_t count = 0;
  Origin origin;
};

struct Run {
  std::optional<Stop> stop;  // nothing: it came to its end
  int64_t steps = 0;         // nodes that ran
  int64_t largest = 0;       // elements of the largest tensor
  c10::IValue result;
  std::vector<Choice> choices;
  Mask recurrent = 0;                     // inputs of recurrent layers
  bool batch_first = false;               // of the last of these layers
  Mask bytes = 0;                         // inputs that are converted to floats and divided by 255
  std::optional<std::vector<Cell>> seen;  // the operands at the site that was asked for
};

struct Limits {
  int64_t steps = 300000;                       // of one run
  bool computed = false;                        // every tensor has its numbers
  std::set<const torch::jit::Node*> unbatched;  // which may take a single example
};

// Runs the method. The module stays as it is: what the run writes ends with it. `watch`: the run
// may end as soon as it has been there.
Run run_shapes(const torch_io::Loaded& m, const Arguments& arguments, const Limits& limits,
               const Site& watch = {});

// ", model.py:20"; empty where the line is not known.
std::string place_in(const Origin& o);
// The operator that stopped, and whose it is: "fc1 (linear)".
std::string who(const Stop& s);
// What a stop is about: "fc1 (linear), model.py:20".
std::string describe(const Stop& s);

}  // namespace oe::infer
