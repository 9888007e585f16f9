// One run of the executor in chosen worlds.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "lib/capture/attempts/attempt.h"

namespace oe::capture {

// The program of a run.
struct Recorded {
  Captured captured;
  std::unordered_map<size_t, std::string> dead;  // worlds that LibTorch refused: why
  size_t dropped = 0;                            // branches that ran in no world
  std::vector<Missed> missed;                    // those that a loop takes in a later iteration
  Diagnostics diagnostics;
};

class Runs {
 public:
  Runs(const Job& job, const Attempt& how) : job_(job), how_(how) {}

  // Throws Refusal, AsksAutograd.
  Recorded operator()(const std::vector<World>& worlds);

  const Job& job() const { return job_; }
  const Attempt& how() const { return how_; }
  // Of all runs so far.
  bool loops_kept() const { return loops_kept_; }
  size_t worlds() const { return worlds_; }  // of the last one

 private:
  const Job& job_;
  const Attempt& how_;
  bool loops_kept_ = false;
  size_t worlds_ = 0;
};

}  // namespace oe::capture
