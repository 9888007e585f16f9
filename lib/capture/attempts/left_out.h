// Sizes at which LibTorch ended an earlier process: what is left out, and why.
#pragma once

#include <string>
#include <vector>

#include "lib/capture/attempts/attempt.h"

namespace oe::capture {

// "x[3,4] h[1,3]": the inputs with the axes at these sizes.
std::string trial_text(const Job& job, const std::vector<int64_t>& sizes);

// Whether made-up values may be used: not where they ended an earlier process.
bool may_make_up(const CaptureOptions& o);

class LeftOutSizes {
 public:
  explicit LeftOutSizes(const Job& job) : job_(job) {}

  bool contains(const std::vector<int64_t>& sizes) const;
  // A warning for each.
  void report(Diagnostics& d) const;

 private:
  std::string other_axes(const LeftOut& l) const;

  const Job& job_;
};

}  // namespace oe::capture
