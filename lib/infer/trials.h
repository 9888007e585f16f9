// Runs of a method on guesses, within one limit for all of them.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <vector>

#include "lib/infer/argument_guess.h"

namespace oe::infer {

// Elements of a tensor in a run that is no trouble.
constexpr int64_t kLargest = int64_t{1} << 22;

// An integer that is seen at a site: a size, a rank, a number.
struct Quantity {
  Site site;
  std::function<std::optional<int64_t>(const std::vector<Cell>&)> of;
};

// Takes a guess and says whether the search is over with it.
using Try = std::function<bool(const Guess&)>;

class Trials {
 public:
  Trials(const torch_io::Loaded& m, bool computed) : module_(m) { limits_.computed = computed; }

  // Where arguments have data, of several draws: the first that stops, else the first.
  Run run(const Guess& g, const Site& watch = {});
  // The quantity where a run comes to its site; nothing where none does.
  std::optional<int64_t> measure(const Guess& g, const Quantity& q);
  // Whether an example may be as large.
  bool fits(const Guess& g) const;

  // What something costs that is no run, in nodes that run.
  void spend(int64_t steps) { steps_ += steps; }
  int64_t steps() const { return steps_; }
  // The limit is what ran, so that it is the same everywhere; the clock is for what is slower than
  // anybody thought.
  bool spent() const;

  // What an attribute of the model's modules calls sample_rate, sampling_rate or the like; 0: none.
  int64_t sampling_rate() const;

  bool computed() const { return limits_.computed; }
  // The node may take one example where a batch is usual.
  void allow_unbatched(const torch::jit::Node* n) { limits_.unbatched.insert(n); }

 private:
  Run run_drawn(const Guess& g, const Site& watch, int draw);

  const torch_io::Loaded& module_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  Limits limits_;
  int64_t steps_ = 0;
};

}  // namespace oe::infer
