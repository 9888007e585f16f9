// Runs of a method on guesses, within one limit for all of them.
#include "lib/infer/trials.h"

#include <algorithm>

#include "lib/torch/stand_ins.h"

namespace oe::infer {
namespace {

constexpr int64_t kAllSteps = 1000000;
constexpr std::chrono::seconds kLongest{8};
constexpr int64_t kStart = 50;                       // what a run costs besides its nodes
constexpr int kDraws = 3;                            // that a guess has to run on
constexpr int64_t kMostElements = int64_t{1} << 28;  // of one input: no example is as large

// What no inputs change: capture says what it thinks of it.
bool beyond_inputs(const Stop& s) {
  const std::string op = s.site.node->kind().toQualString();
  return op == "aten::grad" || op == "aten::backward" || torch_io::is_stand_in(op);
}

}  // namespace

bool Trials::spent() const {
  return steps_ > kAllSteps || std::chrono::steady_clock::now() > begun_ + kLongest;
}

bool Trials::fits(const Guess& g) const {
  const int64_t most = limits_.computed ? kLargest : kMostElements;
  for (const ArgumentGuess* p : g.places()) {
    double elements = 1;
    for (const int64_t n : p->sizes) elements *= static_cast<double>(n);
    if (elements > static_cast<double>(most)) return false;
  }
  return true;
}

Run Trials::run_drawn(const Guess& g, const Site& watch, int draw) {
  Limits limits = limits_;
  limits.steps = std::min(limits.steps, std::max<int64_t>(kAllSteps - steps_, 1));
  Run r = run_shapes(module_, arguments_of(g, limits.computed, draw), limits, watch);
  steps_ += r.steps + kStart;
  return r;
}

Run Trials::run(const Guess& g, const Site& watch) {
  Run r = run_drawn(g, watch, 0);
  // Numbers in a range may have been drawn by chance.
  for (int draw = 1; limits_.computed && !watch.node && !r.stop && draw < kDraws; ++draw) {
    Run other = run_drawn(g, watch, draw);
    if (other.stop) r = std::move(other);  // ends the loop
  }
  if (r.stop && beyond_inputs(*r.stop)) r.stop.reset();
  return r;
}

int64_t Trials::sampling_rate() const {
  static const std::set<std::string> names = {"sample_rate", "sampling_rate", "samplerate", "sr",
                                              "fs",          "_sample_rate"};
  for (const torch::jit::Module& m : module_.module.modules())
    for (const std::string& name : names) {
      if (!m.hasattr(name)) continue;
      const c10::IValue v = m.attr(name);
      if (v.isInt()) return v.toInt();
      if (v.isDouble()) return static_cast<int64_t>(v.toDouble());
    }
  return 0;
}

std::optional<int64_t> Trials::measure(const Guess& g, const Quantity& q) {
  if (!fits(g)) return std::nullopt;
  const Run r = run(g, q.site);
  return r.seen ? q.of(*r.seen) : std::nullopt;
}

}  // namespace oe::infer
