// Stage: written model + LibTorch's results -> do they agree, on several seeds and sizes.
#include "lib/verify/verify_model.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>
#include <set>
#include <stdexcept>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/support/trial.h"
#include "lib/verify/explore.h"
#include "lib/verify/judge.h"
#include "lib/verify/moments.h"
#include "lib/verify/output_record.h"
#include "lib/verify/size_picker.h"
#include "lib/verify/special_values.h"
#include "lib/verify/stated.h"

namespace oe::verify {
namespace {

// OutputFigures::verdict
constexpr const char* kDiffers = "differs";

class Verifier {
 public:
  Verifier(Ort& ort, const Request& r)
      : ort_(ort), r_(r), session_(open(ort, r)), names_(session_->input_names()) {
    const std::vector<std::string> outputs = session_->output_names();
    for (const std::string& name : r.output_names) {
      const auto at = std::find(outputs.begin(), outputs.end(), name);
      if (at == outputs.end()) throw std::runtime_error("the model has no output '" + name + "'");
      outputs_.push_back(static_cast<size_t>(at - outputs.begin()));
    }
    records_.resize(outputs_.size());
    for (const std::string& name : r.output_names) v_.outputs.push_back({.name = name});
  }

  Verification run() {
    try {
      if (r_.probe) meter_.emplace(ort_, r_);
    } catch (const std::runtime_error& e) {
      v_.unmeasured = first_line(e.what());
    }
    for (size_t i = 0; i < r_.output_names.size(); ++i)
      if (judge_.is_drawn(i)) v_.drawn.push_back(r_.output_names[i]);
    plain_runs();
    if (v_.mismatch.empty() && v_.runs > 0 && !v_.drawn.empty()) compare_moments();
    if (meter_) {
      if (v_.mismatch.empty() && v_.runs > 0 && !meter_->complete()) explore();
      v_.coverage = meter_->covered();
    }
    v_.half = r_.half;
    count_elements();
    return std::move(v_);
  }

 private:
  // Outputs that hold nothing in all runs, or the same, are no evidence.
  void count_elements() {
    bool any = !v_.drawn.empty() || !v_.gaps.empty();
    for (size_t i = 0; i < records_.size(); ++i) {
      std::string& verdict = v_.outputs[i].verdict;
      if (judge_.is_drawn(i) || judge_.is_open(i)) {
        if (v_.runs > 0 && verdict != kDiffers)
          verdict = judge_.is_open(i) ? "undecided" : "random";
        continue;
      }
      // What no input determines, or inputs that were the same, is the same in every run.
      const bool varies =
          given_.says_nothing().empty() && (i >= r_.lineage.size() || r_.lineage[i].depends);
      const std::string nothing = varies ? records_[i].says_nothing() : std::string();
      if (nothing.empty()) {
        v_.elements += v_.outputs[i].elements = records_[i].elements();
        any = true;
      } else {
        v_.uncounted.push_back("'" + r_.output_names[i] + "' (" + nothing + ")");
      }
      if (v_.runs > 0 && verdict != kDiffers) verdict = nothing.empty() ? "agrees" : "constant";
    }
    if (v_.runs > 0 && v_.mismatch.empty() && !any && !records_.empty())
      v_.gaps.push_back("no output shows whether the model is right: " + join(v_.uncounted, ", "));
  }

  using Clock = std::chrono::steady_clock;
  // The effort to reach what the runs did not: candidates, and seconds (or as long as the runs
  // took, if that is more).
  static constexpr int kCandidates = 400;
  static constexpr double kSeconds = 0.5;
  static constexpr size_t kSteps = 5;  // calls in a row
  // For the moments of random outputs: no further run when this time is over.
  static constexpr double kDrawSeconds = 5;

  void plain_runs() {
    for (const Sizes& w : r_.worlds)
      if (!all_seeds(w)) return;
    SizePicker pick(r_);
    std::set<std::string> missing;
    for (const std::string& name : pick.names()) missing.insert(name);
    if (missing.size() > 1 && !every_axis_at_once(pick, missing)) return;
    for (const std::string& name : std::set<std::string>(missing))
      if (!one_axis(pick, name, missing)) return;
    if (!one_alone(pick)) return;
    if (r_.thorough && v_.runs > 0 && !special_values()) return;
    if (!rows_of_calls()) return;
    for (const std::string& name : missing)
      if (!pick.varied_by_worlds(name))
        v_.gaps.push_back("axis '" + name + "' runs at no other size than the example's" +
                          (refusal_.empty() ? "" : " (LibTorch: " + first_line(refusal_) + ")"));
  }

  // False when a mismatch ended the verification. Sizes that LibTorch refuses count for nothing.
  bool all_seeds(const Sizes& sizes, int runs) {
    bool counted = false;
    for (int i = 0; i < runs; ++i) {
      const uint64_t seed = r_.seed + static_cast<uint64_t>(i);
      std::optional<HostRun> expected;
      try {
        expected = r_.original->run({sizes, seed, {}});
      } catch (const std::runtime_error& e) {
        refusal_ = e.what();
        // The values, not the size, were at fault where another seed ran.
        if (counted || i + 1 < runs) continue;
        accepted_ = counted;
        return true;
      }
      counted = true;
      const std::string where =
          " at " + sizes_text(r_.leaf_names, sizes) + ", seed " + std::to_string(seed);
      const bool same = one_run(where, {sizes, seed, {}}, *expected);
      if (r_.thorough && (i == 0 || !same)) judge_.measure_errors(outputs(), *expected);
      if (!same) return false;
    }
    accepted_ = counted;
    if (counted) ++v_.sizes;
    return true;
  }

  bool all_seeds(const Sizes& sizes) { return all_seeds(sizes, r_.options.runs); }

  bool every_axis_at_once(const SizePicker& pick, std::set<std::string>& missing) {
    for (size_t k = 0; k < 4; ++k) {
      Sizes sizes = r_.worlds[0];
      for (const std::string& name : missing) {
        const std::vector<int64_t> c = pick.small_candidates(name);
        if (!c.empty()) sizes = pick.with(std::move(sizes), name, c[k % c.size()]);
      }
      if (!all_seeds(sizes)) return false;
      if (!accepted_) continue;
      std::erase_if(missing,
                    [&](const std::string& name) { return !pick.candidates(name).empty(); });
      return true;
    }
    return true;
  }

  bool one_axis(const SizePicker& pick, const std::string& name, std::set<std::string>& missing) {
    for (const int64_t n : pick.candidates(name)) {
      if (!all_seeds(pick.with(r_.worlds[0], name, n))) return false;
      if (!accepted_) continue;
      missing.erase(name);
      return true;
    }
    return true;
  }

  // One element may stand for all: each axis alone at 1, or from 1 at more.
  bool one_alone(const SizePicker& pick) {
    const std::vector<std::string> names = pick.names();
    for (const std::string& name : names)
      for (const int64_t n : pick.around_one(name, names.size() == 1))
        if (!all_seeds(pick.with(r_.worlds[0], name, n), 1)) return false;
    return true;
  }

  // State handed on from call to call: from the saved state, and from drawn ones at every size.
  bool rows_of_calls() {
    if (r_.state.empty()) return true;
    for (size_t w = 0; w < r_.worlds.size(); ++w)
      for (const uint64_t seed : {r_.seed, r_.seed + 1})
        if ((w == 0 || seed == r_.seed) && !row_of_calls(r_.worlds[w], seed)) return false;
    if (v_.steps < kSteps)
      v_.gaps.push_back("LibTorch ran " + plural(v_.steps, "call") + " in a row, not " +
                        std::to_string(kSteps) + ": " + first_line(refusal_));
    return true;
  }

  bool row_of_calls(const Sizes& sizes, uint64_t seed) {
    std::vector<TensorPtr> left;  // by the last call of ONNX Runtime, one for each of r_.state
    for (size_t step = 0; step < kSteps; ++step) {
      HostRun expected;
      try {
        expected = r_.original->step({sizes, seed + 1000 * step, {}}, step == 0);
      } catch (const std::runtime_error& e) {
        refusal_ = e.what();
        return true;
      }
      const std::string where = " at " + sizes_text(r_.leaf_names, sizes) + ", seed " +
                                std::to_string(seed) + ", call " + std::to_string(step + 1) +
                                " in a row";
      HostRun own = expected;
      for (size_t i = 0; i < left.size(); ++i) own.inputs[r_.state[i].leaf] = left[i];
      const LargestError error = v_.error;
      const Draw draw{sizes, seed + 1000 * step, {}};
      if (!one_run(where, draw, own)) {
        if (step == 0) return false;
        // Rounding that many calls add up, or a mistake: one call from LibTorch's own state tells.
        v_.mismatch.clear();
        v_.error = error;
        if (!one_run(where, draw, expected)) return false;
        ++v_.drifted;
      }
      left.clear();
      for (const StatePair& c : r_.state) left.push_back(actual_[outputs_[c.output]].tensor);
      v_.steps = std::max(v_.steps, step + 1);
    }
    return true;
  }

  // Tries inputs on the probe, which is cheap; what reaches something new is compared like any run.
  // What LibTorch refuses, or what never ends, has reached nothing.
  void explore() {
    Candidates candidates(r_, r_.original->inputs({r_.worlds[0], r_.seed, {}}));
    const auto begin = Clock::now();
    const auto most = std::max<Clock::duration>(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kSeconds)),
        begin - begin_);
    for (int i = 0; i < kCandidates && meter_ && !meter_->complete() && Clock::now() - begin < most;
         ++i) {
      const Draw draw = candidates.next();
      std::vector<bool> flags;
      try {
        flags = meter_->flags(r_.original->inputs(draw));
      } catch (const std::runtime_error&) {
        continue;
      }
      if (flags[0]) candidates.was_endless();
      if (flags[0] || !meter_->is_news(flags)) continue;
      std::optional<HostRun> expected;
      try {
        expected = r_.original->run(draw);
      } catch (const std::runtime_error&) {
        meter_->refuse(flags);
        continue;
      }
      const std::string varied = candidates.text(draw);
      const std::string where = " at " + sizes_text(r_.leaf_names, draw.sizes) + ", seed " +
                                std::to_string(draw.seed) + (varied.empty() ? "" : ", " + varied);
      if (!one_run(where, draw, *expected)) {
        if (!r_.assumes) return;
        v_.gaps.push_back(std::exchange(v_.mismatch, {}) + " (where an assumption may not hold)");
        return;
      }
      candidates.build_on(draw);
    }
  }

  // Outputs that depend on random numbers, over many runs at the example's sizes.
  void compare_moments() {
    const auto begin = Clock::now();
    std::vector<Moments> moments(r_.output_names.size());
    size_t runs = 0;
    for (size_t k = 0; k < Moments::kRuns; ++k) {
      if (Clock::now() - begin > std::chrono::duration<double>(kDrawSeconds)) break;
      try {
        const HostRun expected = r_.original->run({r_.worlds[0], r_.seed + k, {}});
        const std::vector<HostValue> actual = session_->run(session_inputs(expected));
        for (size_t i = 0; i < moments.size() && i < expected.outputs.size(); ++i)
          if (judge_.is_drawn(i) && expected.outputs[i].tensor && actual[outputs_[i]].tensor)
            moments[i].add(*actual[outputs_[i]].tensor, *expected.outputs[i].tensor);
        ++runs;
      } catch (const std::runtime_error&) {
        continue;  // LibTorch refuses these values
      }
    }
    if (runs >= Moments::kEnough) v_.draws = runs;
    for (size_t i = 0; i < moments.size(); ++i) {
      const std::string what = moments[i].difference();
      if (what.empty()) continue;
      v_.mismatch = "output '" + r_.output_names[i] +
                    "' depends on random numbers of another distribution than LibTorch's: " + what;
      return;
    }
  }

  bool one_run(const std::string& where, const Draw& draw, const HostRun& expected) {
    if (compared(where, expected)) return true;
    v_.inputs = expected.inputs;
    v_.draw = draw;
    return false;
  }

  // Each kind of value in all inputs of floats at once; zeros in those of integers too, where
  // LibTorch takes them. False: a difference that counts.
  bool special_values() {
    for (SpecialValues kind : kSpecialValues) {
      std::optional<SpecialRun> run = special_run(kind);
      if (!run || (!run->ran && kind.integers.kind != Variation::Kind::None)) {
        kind.integers = {};
        run = special_run(kind);
      }
      if (!v_.mismatch.empty()) return false;
      if (run) v_.special.push_back(std::move(*run));
    }
    return true;
  }
  // Nothing where the model has no such inputs, or where a difference that counts was found.
  std::optional<SpecialRun> special_run(const SpecialValues& kind) {
    Draw draw{r_.worlds[0], r_.seed, {}};
    bool any = false;
    for (const TensorPtr& t : r_.original->inputs(draw)) {
      draw.variations.push_back(is_float(t->dtype()) ? kind.floats : kind.integers);
      any = any || draw.variations.back().kind != Variation::Kind::None;
    }
    if (!any) return std::nullopt;
    SpecialRun run{kind.name, false, {}};
    std::optional<HostRun> expected;
    try {
      expected = r_.original->run(draw);
    } catch (const std::runtime_error&) {
      return run;  // LibTorch does not take these values
    }
    run.ran = true;
    const LargestError error = v_.error;
    if (one_run(" at " + run.values, draw, *expected)) return run;
    if (kind.floats.kind == Variation::Kind::Scale &&
        same_at_scale(r_, outputs(), expected->outputs)) {
      v_.mismatch.clear();
      return run;
    }
    const bool told = kind.floats.kind == Variation::Kind::Fill
                          ? is_unstable(draw, *expected)
                          : !std::isfinite(kind.floats.value) && !r_.asks_for_nan;
    if (!told) return std::nullopt;
    v_.error = error;
    run.difference = std::exchange(v_.mismatch, {});
    if (std::isfinite(kind.floats.value))
      run.difference += "; LibTorch's own results for 1e-5 and 2e-5 are as far apart";
    return run;
  }

  // Whether LibTorch's own results for two inputs that hardly differ, 1e-5 and 2e-5, are as far
  // apart as the two are at 0: a row of norms of equal numbers makes its rounding into the result.
  // At a mere step (a sign, a comparison) they agree.
  bool is_unstable(Draw draw, const HostRun& expected) {
    std::vector<HostRun> near;
    for (const double value : {1e-5, 2e-5}) {
      for (Variation& v : draw.variations)
        if (v.kind == Variation::Kind::Fill) v.value = value;
      try {
        near.push_back(r_.original->run(draw));
      } catch (const std::runtime_error&) {
        return false;
      }
    }
    return as_far_apart(r_, outputs(), expected.outputs, near[0].outputs, near[1].outputs);
  }

  std::vector<HostValue> session_inputs(const HostRun& expected) const {
    std::vector<HostValue> inputs;
    for (const std::string& name : names_) {
      const auto at = std::find(r_.leaf_names.begin(), r_.leaf_names.end(), name);
      if (at == r_.leaf_names.end())
        throw std::runtime_error("the model has an input '" + name + "' without a value");
      inputs.push_back(
          HostValue::of(expected.inputs[static_cast<size_t>(at - r_.leaf_names.begin())]));
    }
    return inputs;
  }

  bool compared(const std::string& where, const HostRun& expected) {
    inputs_ = session_inputs(expected);
    judge_.next_run(expected.inputs);
    actual_.clear();
    v_.as_written = false;
    try {
      actual_ = session_->run(inputs_);
    } catch (const std::runtime_error& e) {
      const std::string_view why = e.what();
      if (why.find("bad_alloc") != why.npos || why.find("Failed to allocate memory") != why.npos)
        throw Failure(ExitCode::Limit, "OE0801", "ONNX Runtime ran out of memory" + where);
      v_.mismatch = "ONNX Runtime fails" + where + ": " + e.what();
      return false;
    }
    ++v_.runs;
    if (expected.outputs.size() != r_.output_names.size()) {
      v_.mismatch = "LibTorch gives " + plural(expected.outputs.size(), "output") + ", the model " +
                    std::to_string(r_.output_names.size()) + where;
      return false;
    }
    for (size_t i = 0; i < expected.outputs.size(); ++i) {
      v_.mismatch = judge_.problem(i, where, actual_[outputs_[i]], expected.outputs[i]);
      if (v_.mismatch.empty()) continue;
      v_.outputs[i].verdict = kDiffers;
      v_.as_written = is_as_written();
      return false;
    }
    if (!stated(where, expected.inputs)) return false;
    for (size_t i = 0; i < records_.size(); ++i) records_[i].add(expected.outputs[i]);
    HostValue given{HostValue::Kind::Sequence, {}, {}};
    for (const TensorPtr& t : expected.inputs)
      if (t) given.sequence.push_back(t);
    given_.add(given);
    measure(expected.inputs);
    return true;
  }

  // Whether the last run's outputs have the shapes that the model states.
  bool stated(const std::string& where, const std::vector<TensorPtr>& inputs) {
    NamedSizes sizes;
    for (size_t i = 0; i < r_.leaf_shapes.size() && i < inputs.size(); ++i)
      if (inputs[i]) add_sizes(r_.leaf_shapes[i], *inputs[i], sizes);
    for (size_t i = 0; i < r_.shapes.size(); ++i) {
      const Tensor* t = actual_[outputs_[i]].tensor.get();
      const std::string wrong = t ? not_as_stated(*t, r_.shapes[i], sizes) : std::string();
      if (wrong.empty()) continue;
      v_.mismatch = "output '" + r_.output_names[i] +
                    "' has another shape than the model declares" + where + ": " + wrong;
      v_.outputs[i].verdict = kDiffers;
      v_.misstated = true;
      return false;
    }
    return true;
  }

  // Whether the last run gave what the original's code says, which is not what the original gave.
  bool is_as_written() {
    const std::string mismatch = v_.mismatch;
    bool same = false;
    try {
      const std::vector<HostValue> plain = r_.original->last_as_written();
      same = plain.size() == r_.output_names.size();
      judge_.next_run(std::nullopt);
      for (size_t i = 0; i < plain.size() && same; ++i)
        same = judge_.problem(i, "", actual_[outputs_[i]], plain[i]).empty();
    } catch (const std::runtime_error&) {
      same = false;
    }
    v_.mismatch = mismatch;
    return same;
  }

  // Of the last run, in the order of the request.
  std::vector<HostValue> outputs() const { return in_order(actual_); }

  std::vector<HostValue> in_order(const std::vector<HostValue>& all) const {
    std::vector<HostValue> out;
    if (!all.empty())
      for (const size_t place : outputs_) out.push_back(all[place]);
    return out;
  }

  // Likewise, by the graph as it is written.
  std::vector<HostValue> unoptimized() {
    if (!plain_) plain_ = open(ort_, r_, /*optimize=*/false);
    return in_order(plain_->run(inputs_));
  }

  void measure(const std::vector<TensorPtr>& leaves) {
    if (!meter_ || meter_->complete()) return;
    try {
      meter_->measure(leaves);
    } catch (const std::runtime_error& e) {
      v_.unmeasured = first_line(e.what());
      meter_.reset();
    }
  }

  Ort& ort_;
  const Request& r_;
  const Clock::time_point begin_ = Clock::now();
  std::unique_ptr<Ort::Session> session_;
  std::unique_ptr<Ort::Session> plain_;  // without optimisations; null until it is wanted
  std::optional<CoverageMeter> meter_;
  std::vector<std::string> names_;
  std::vector<size_t> outputs_;        // position in the session's outputs
  std::vector<HostValue> inputs_;      // of the last run, in the session's order
  std::vector<HostValue> actual_;      // its outputs; none where ONNX Runtime failed
  std::vector<OutputRecord> records_;  // in the order of the request
  OutputRecord given_;                 // of all inputs together
  bool accepted_ = false;              // whether LibTorch ran the last sizes
  std::string refusal_;
  Verification v_;
  Judge judge_{r_, v_, [this] { return unoptimized(); }};
};

}  // namespace

std::unique_ptr<Ort::Session> open(Ort& ort, const Request& r, bool optimize) {
  return r.bytes.empty() ? ort.open_file(r.model, r.threads, optimize)
                         : ort.open_bytes(r.bytes, r.threads, optimize);
}

Verification verify_model(Ort& ort, const Request& r) { return Verifier(ort, r).run(); }

}  // namespace oe::verify
