// What the program takes for granted, said to the user as warnings.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "lib/capture/values/site.h"
#include "lib/support/diagnostics.h"

namespace oe::capture {

// At which iteration a world enters the kept loops: bodies are recorded with the values that worlds
// have there, so that a branch which only later iterations can run is run by somebody.
struct Iterations {
  std::map<const torch::jit::Node*, int64_t> at;
  int64_t otherwise = 0;
  bool later() const { return otherwise > 0 || !at.empty(); }
};

using Branch = std::pair<const torch::jit::Node*, size_t>;  // of an If

// A branch that no world could run when it was recorded, taken by a later iteration.
struct Missed {
  Branch branch;
  size_t world = 0;
  Iterations iterations;  // where that was
  Failure refusal;
};

class Assumed {
 public:
  explicit Assumed(const Site& site) : site_(site) {}

  // Names something the file takes for granted, with the source line; --strict refuses it.
  void say(const std::string& what);
  const std::vector<std::string>& said() const { return state_.said; }

  // The branch could be run with none of the worlds when its If was recorded.
  void drop(Branch b, const std::string& why) { state_.dropped.emplace(b, why); }
  // Why it was dropped; null where it was not.
  const std::string* dropped(Branch b) const;
  size_t dropped_branches() const { return state_.dropped.size(); }

  void miss(Missed m) { state_.missed.push_back(std::move(m)); }
  // The dropped branches that were taken after all, each once.
  std::vector<Missed> missed() const;

  // All that was assumed so far, to be taken back with what assumed it.
  struct State {
    std::vector<std::string> said;
    std::map<Branch, std::string> dropped;
    std::vector<Missed> missed;
  };
  const State& state() const { return state_; }
  void take_back(State before) { state_ = std::move(before); }

 private:
  const Site& site_;
  State state_;
};

}  // namespace oe::capture
