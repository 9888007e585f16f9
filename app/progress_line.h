// The running stage and its seconds, rewritten in place on standard error while the worker works.
#pragma once

#include <chrono>
#include <string>

#include "lib/options/options.h"

namespace oe::app {

class ProgressLine {
 public:
  explicit ProgressLine(const Options& o);
  ~ProgressLine();  // erases it
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void stage(const std::string& name);
  void show();  // once it is time for it; called every now and then

 private:
  using Clock = std::chrono::steady_clock;
  bool wanted_, always_;
  std::string shown_;
  std::string stage_ = "start";
  Clock::time_point start_ = Clock::now(), stage_start_ = start_;
};

}  // namespace oe::app
