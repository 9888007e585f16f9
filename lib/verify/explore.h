// Which inputs may drive a branch or a trip count that no run has reached yet.
#pragma once

#include <deque>
#include <set>
#include <string>
#include <vector>

#include "lib/verify/verify_model.h"

namespace oe::verify {

// Runs the probe and keeps what was seen.
class CoverageMeter {
 public:
  CoverageMeter(Ort& ort, const Request& r);

  // The flags these inputs (one a leaf) drive. Loops that run on and on are cut short, which flag 0
  // of the result says. Throws std::runtime_error where ONNX Runtime refuses them.
  std::vector<bool> flags(const std::vector<TensorPtr>& leaves);
  // Keeps the flags of inputs for which the model is known to end.
  void measure(const std::vector<TensorPtr>& leaves);
  // Whether a flag is among them that was not seen, nor refused time and again.
  bool is_news(const std::vector<bool>& flags) const;
  void refuse(const std::vector<bool>& flags);  // LibTorch does not take what drives them
  bool complete() const;
  std::vector<Covered> covered() const { return verify::covered(*r_.probe, seen_, refused_); }

 private:
  std::vector<bool> flags(const std::vector<TensorPtr>& leaves, double limit);
  void keep(const std::vector<bool>& flags);

  const Request& r_;
  std::unique_ptr<Ort::Session> session_;
  std::vector<std::string> names_;
  std::vector<bool> wanted_, seen_, refused_;
  double longest_ = 0;         // iterations of a measured run
  std::vector<int> refusals_;  // how often each flag was
};

// Draws to try, in an order that does not depend on anything but the request: each differs from one
// that is known to be good in one input or one axis. What reaches something is built upon.
class Candidates {
 public:
  // `leaves`: the example's inputs.
  Candidates(const Request& r, const std::vector<TensorPtr>& leaves);

  Draw next();         // without end: at last the same from values drawn anew
  void was_endless();  // the last one: after a few times it is left out
  void build_on(const Draw& d);
  std::string text(const Draw& d) const;  // "n = 0, x all negative"; empty: no variation

 private:
  struct Step {
    std::vector<size_t> leaves;  // that get the variation
    Variation variation;
    std::vector<size_t> axes;  // numbers of those that get the size
    int64_t size = 0;
    int endless = 0;
  };
  void add_axis(const std::string& name, int64_t n);  // no name: all of them
  Draw apply(Draw d, const Step& s) const;
  static bool affordable(const Draw& d);
  static std::string key(const Draw& d);

  const Request& r_;
  std::vector<Step> steps_;
  std::deque<Draw> bases_;
  size_t base_ = 0, step_ = 0;
  uint64_t seeds_ = 0;
  std::set<std::string> tried_;
};

}  // namespace oe::verify
