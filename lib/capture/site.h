// Where in the model the run is, for messages and for what is recorded.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/capture/recorder.h"
#include "lib/support/diagnostics.h"

namespace oe::capture {

// Two values that no one program value can stand for. Reported to the user unless what follows can
// be executed inside both branches.
struct JoinFailure : Failure {
  using Failure::Failure;
};

class Site {
 public:
  explicit Site(Recorder& recorder) : recorder_(recorder) {}

  // Nodes that run, one inside the other, each with the path of the module whose method runs.
  void enter(const torch::jit::Node* n, const std::string& path) { running_.emplace_back(n, path); }
  void leave() { running_.pop_back(); }
  size_t depth() const { return running_.size(); }
  void leave_to(size_t depth) { running_.resize(depth); }
  const torch::jit::Node* node() const { return running_.back().first; }

  // The running node's origin; null before the first one.
  OriginPtr here() const;
  [[noreturn]] void refuse(const std::string& code, const std::string& message,
                           const std::string& hint = {}) const;
  [[noreturn]] void cannot_join(const std::string& code, const std::string& message,
                                const std::string& hint) const;

 private:
  Recorder& recorder_;
  std::vector<std::pair<const torch::jit::Node*, std::string>> running_;
};

}  // namespace oe::capture
