// Where in the model the run is, for messages and for what is recorded.
#pragma once

#include <torch/csrc/jit/ir/ir.h>

#include <string>
#include <utility>
#include <vector>

#include "lib/capture/values/recorder.h"
#include "lib/support/diagnostics.h"

namespace oe::capture {

// What another attempt has to do for the run to come further (attempts/).
enum class Need { Nothing, Views, MadeUpValues, Operators };

// ONNX cannot express what the model does, or not as this attempt records it.
struct Refusal : Failure {
  Refusal(std::string code, const std::string& message, std::string hint, OriginPtr origin,
          Need what)
      : Failure(ExitCode::Unsupported, std::move(code), message, std::move(hint),
                std::move(origin)),
        need(what) {}
  Need need;
};

// Two values that no one program value can stand for. Reported to the user unless what follows can
// be executed inside both branches.
struct JoinFailure : Failure {
  using Failure::Failure;
};

class Site {
 public:
  explicit Site(Recorder& recorder) : recorder_(recorder) {}

  // Nodes that run, one inside the other, each with the path of the module whose method runs and
  // the call of it.
  void enter(const torch::jit::Node* n, const std::string& path, const ModuleCallPtr& call) {
    running_.push_back({n, path, call});
  }
  void leave() { running_.pop_back(); }
  size_t depth() const { return running_.size(); }
  void leave_to(size_t depth) { running_.resize(depth); }
  const torch::jit::Node* node() const { return running_.back().node; }
  const std::string& path() const { return running_.back().path; }
  const ModuleCallPtr& call() const { return running_.back().call; }

  // While it lives, everything that runs stands for the node that runs now: what a composite
  // operator is made of has the operator's own line.
  class Held {
   public:
    explicit Held(Site& s) : site_(s), outer_(s.held_) {
      if (!s.held_) s.held_ = s.running_.size();
    }
    ~Held() { site_.held_ = outer_; }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    Site& site_;
    size_t outer_;
  };

  // While it lives, messages name the variable that they are about.
  class About {
   public:
    // An output of the running node; what the author did not name has a number.
    About(Site& s, size_t output) : site_(s), outer_(std::move(s.about_)) {
      s.about_ = s.variable(output);
    }
    ~About() { site_.about_ = std::move(outer_); }
    About(const About&) = delete;
    About& operator=(const About&) = delete;

   private:
    Site& site_;
    std::string outer_;
  };

  // Whether what runs is what a composite operator is made of.
  bool held() const { return held_ != 0; }

  // The running node's origin; null before the first one.
  OriginPtr here() const;
  [[noreturn]] void refuse(const std::string& code, const std::string& message,
                           const std::string& hint = {}, Need need = Need::Nothing) const;
  [[noreturn]] void cannot_join(const std::string& code, const std::string& message,
                                const std::string& hint) const;

 private:
  struct Running {
    const torch::jit::Node* node;
    std::string path;
    ModuleCallPtr call;
  };
  std::string variable(size_t output) const;
  std::string named(const std::string& message) const;

  Recorder& recorder_;
  std::string about_;  // the variable that messages are about; empty: none
  std::vector<Running> running_;
  size_t held_ = 0;  // how many of them had entered when it was held; 0: it is not
};

}  // namespace oe::capture
