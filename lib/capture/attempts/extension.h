// Worlds that run what none has run yet: branches that larger sizes or later iterations reach.
#pragma once

#include <set>
#include <utility>
#include <vector>

#include "lib/capture/attempts/left_out.h"
#include "lib/capture/attempts/run.h"

namespace oe::capture {

class Extension {
 public:
  explicit Extension(Runs& run) : run_(run), left_out_(run.job()) {}

  // Runs the model in more worlds as long as branches that ran in none run in them.
  void extend(Recorded& r, std::vector<World>& worlds);

 private:
  void follow(Recorded& r, std::vector<World>& worlds);
  void offer(Recorded& r, std::vector<World>& worlds, World more);
  void make_up(Recorded& r, const std::vector<World>& worlds);

  Runs& run_;
  const LeftOutSizes left_out_;
  std::set<std::pair<const torch::jit::Node*, size_t>> followed_;
};

}  // namespace oe::capture
