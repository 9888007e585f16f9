// Stage: written model + LibTorch's results -> do they agree, on several seeds and sizes.
#include "lib/verify/verify_model.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>

#include "lib/support/text.h"
#include "lib/support/trial.h"
#include "lib/verify/explore.h"
#include "lib/verify/moments.h"
#include "lib/verify/size_picker.h"

namespace oe::verify {
namespace {

std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

class Driver {
 public:
  Driver(Ort& ort, const Request& r)
      : ort_(ort), r_(r), session_(open(ort, r)), names_(session_->input_names()) {
    const std::vector<std::string> outputs = session_->output_names();
    for (const std::string& name : r.output_names) {
      const auto at = std::find(outputs.begin(), outputs.end(), name);
      if (at == outputs.end()) throw std::runtime_error("the model has no output '" + name + "'");
      outputs_.push_back(static_cast<size_t>(at - outputs.begin()));
    }
  }

  Verification run() {
    try {
      if (r_.probe) meter_.emplace(ort_, r_);
    } catch (const std::runtime_error& e) {
      v_.unmeasured = first_line(e.what());
    }
    for (size_t i = 0; i < r_.output_names.size(); ++i)
      if (is_drawn(i)) v_.drawn.push_back(r_.output_names[i]);
    plain_runs();
    if (v_.mismatch.empty() && v_.runs > 0 && !v_.drawn.empty()) compare_moments();
    if (meter_) {
      if (v_.mismatch.empty() && v_.runs > 0 && !meter_->complete()) explore();
      v_.coverage = meter_->covered();
    }
    v_.half = r_.half;
    return std::move(v_);
  }

 private:
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
      std::optional<ReferenceRun> expected;
      try {
        expected = r_.reference({sizes, seed, {}});
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
      if (!one_run(where, *expected)) return false;
    }
    accepted_ = counted;
    if (counted) ++v_.sizes;
    return true;
  }

  bool all_seeds(const Sizes& sizes) { return all_seeds(sizes, r_.runs); }

  bool every_axis_at_once(const SizePicker& pick, std::set<std::string>& missing) {
    for (size_t k = 0; k < 4; ++k) {
      Sizes sizes = r_.worlds[0];
      for (const std::string& name : missing) {
        const std::vector<int64_t> c = pick.candidates(name);
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
      ReferenceRun expected;
      try {
        expected = r_.step({sizes, seed + 1000 * step, {}}, step == 0);
      } catch (const std::runtime_error& e) {
        refusal_ = e.what();
        return true;
      }
      const std::string where = " at " + sizes_text(r_.leaf_names, sizes) + ", seed " +
                                std::to_string(seed) + ", call " + std::to_string(step + 1) +
                                " in a row";
      ReferenceRun own = expected;
      for (size_t i = 0; i < left.size(); ++i) own.inputs[r_.state[i].leaf] = left[i];
      const double error = v_.max_abs;
      if (!one_run(where, own)) {
        if (step == 0) return false;
        // Rounding that many calls add up, or a mistake: one call from LibTorch's own state tells.
        v_.mismatch.clear();
        v_.max_abs = error;
        if (!one_run(where, expected)) return false;
        ++v_.drifted;
      }
      left.clear();
      for (const Carried& c : r_.state) left.push_back(actual_[outputs_[c.output]].tensor);
      v_.steps = std::max(v_.steps, step + 1);
    }
    return true;
  }

  // Tries inputs on the probe, which is cheap; what reaches something new is compared like any run.
  // What LibTorch refuses, or what never ends, has reached nothing.
  void explore() {
    Candidates candidates(r_, r_.inputs({r_.worlds[0], r_.seed, {}}));
    const auto begin = Clock::now();
    const auto most = std::max<Clock::duration>(
        std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(kSeconds)),
        begin - begin_);
    for (int i = 0; i < kCandidates && meter_ && !meter_->complete() && Clock::now() - begin < most;
         ++i) {
      const Draw draw = candidates.next();
      std::vector<bool> flags;
      try {
        flags = meter_->flags(r_.inputs(draw));
      } catch (const std::runtime_error&) {
        continue;
      }
      if (flags[0]) candidates.was_endless();
      if (flags[0] || !meter_->is_news(flags)) continue;
      std::optional<ReferenceRun> expected;
      try {
        expected = r_.reference(draw);
      } catch (const std::runtime_error&) {
        meter_->refuse(flags);
        continue;
      }
      const std::string varied = candidates.text(draw);
      const std::string where = " at " + sizes_text(r_.leaf_names, draw.sizes) + ", seed " +
                                std::to_string(draw.seed) + (varied.empty() ? "" : ", " + varied);
      if (!one_run(where, *expected)) {
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
        const ReferenceRun expected = r_.reference({r_.worlds[0], r_.seed + k, {}});
        const std::vector<OrtValue> actual = session_->run(session_inputs(expected));
        for (size_t i = 0; i < moments.size() && i < expected.outputs.size(); ++i)
          if (is_drawn(i) && expected.outputs[i].tensor && actual[outputs_[i]].tensor)
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

  bool is_drawn(size_t output) const {
    return output < r_.lineage.size() && r_.lineage[output].drawn;
  }

  // What is the same of two random results: an axis of unknown size may be random too.
  std::string form_difference(size_t output, const OrtValue& actual, const OrtValue& expected) {
    if (actual.kind != expected.kind) return "a sequence and a tensor";
    if (expected.kind != OrtValue::Kind::Tensor) return {};
    const Tensor &a = *actual.tensor, &e = *expected.tensor;
    if (a.dtype() != e.dtype())
      return "element type is " + std::string(name(a.dtype())) + ", expected " +
             std::string(name(e.dtype()));
    bool same = a.dims().size() == e.dims().size();
    const Shape& stated = r_.shapes[output];
    for (size_t d = 0; same && d < a.dims().size(); ++d)
      same = a.dims()[d] == e.dims()[d] || !stated || (*stated)[d].kind == Dim::Kind::Unknown;
    return same ? std::string() : "it has another shape";
  }

  bool one_run(const std::string& where, const ReferenceRun& expected) {
    if (compared(where, expected)) return true;
    v_.inputs = expected.inputs;
    return false;
  }

  std::vector<OrtValue> session_inputs(const ReferenceRun& expected) const {
    std::vector<OrtValue> inputs;
    for (const std::string& name : names_) {
      const auto at = std::find(r_.leaf_names.begin(), r_.leaf_names.end(), name);
      if (at == r_.leaf_names.end())
        throw std::runtime_error("the model asks for an input '" + name + "' nobody gave");
      OrtValue v;
      v.tensor = expected.inputs[static_cast<size_t>(at - r_.leaf_names.begin())];
      inputs.push_back(std::move(v));
    }
    return inputs;
  }

  // An output of a model whose arithmetic was rounded, beside the same in float64 (in LibTorch's
  // own types where the model asks for these, which are exact enough). What is too far off may
  // still be no further than LibTorch in the same 16 bits.
  bool rounded_right(size_t output, const std::string& where, const OrtValue& actual,
                     const OrtValue& expected) {
    const std::vector<TensorPtr> a = tensors_of(actual), own = tensors_of(expected);
    const std::vector<TensorPtr> exact = again_in(DType::Double, output, own);
    const Tolerance given = tolerance_of(r_, r_.output_names[output]);
    const bool decided = output < r_.lineage.size() && r_.lineage[output].decided;
    std::string what = actual.kind != expected.kind ? "a sequence and a tensor"
                       : a.size() != own.size()     ? "it has another length"
                                                    : "";
    double scaled = 0;
    for (size_t i = 0; what.empty() && i < own.size(); ++i) {
      if (a[i]->dtype() != own[i]->dtype() || !is_float(a[i]->dtype())) {
        what = difference(output, *a[i], *own[i]);
        continue;
      }
      const bool same = exact[i]->dims() == own[i]->dims() && is_float(exact[i]->dtype());
      Comparison c = compare_rounded(*a[i], same ? *exact[i] : *own[i], r_.half, given);
      // Some models compute something else in another type.
      if (const Comparison in_own = compare_rounded(*a[i], *own[i], r_.half, given);
          in_own.ok && !c.ok)
        c = in_own;
      v_.max_abs = std::max(v_.max_abs, c.max_abs);
      scaled = std::max(scaled, c.max_rel);
      if (!c.ok) what = c.message;
    }
    if (what.empty()) {
      v_.max_scaled = std::max(v_.max_scaled, scaled);
      return true;
    }
    if (given.atol < 0 && given.rtol < 0 && exact.size() == own.size() && a.size() == own.size()) {
      const std::vector<TensorPtr> half = again_in(r_.half, output, {});
      bool near = half.size() == own.size();
      for (size_t i = 0; near && i < own.size(); ++i)
        near = as_exact_as(*a[i], *half[i], *exact[i], r_.half);
      v_.judged += near;
      if (near) return true;
    }
    what = "output '" + r_.output_names[output] + "' differs from LibTorch's" + where + ": " + what;
    if (!decided) {
      v_.mismatch = what;
      return false;
    }
    if (tied_.insert(output).second)
      v_.gaps.push_back(what + " (a comparison or an index decides it, in numbers rounded to " +
                        std::string(name(r_.half)) + ")");
    return true;
  }

  // The output of the last run in another type of float; where it cannot be had, `otherwise`.
  std::vector<TensorPtr> again_in(DType type, size_t output, std::vector<TensorPtr> otherwise) {
    try {
      const auto [at, fresh] = again_.try_emplace(type);
      if (fresh) at->second = r_.in_type(type);
      const std::vector<OrtValue>& all = at->second;
      if (output >= all.size()) return otherwise;
      std::vector<TensorPtr> again = tensors_of(all[output]);
      return otherwise.empty() || again.size() == otherwise.size() ? again : otherwise;
    } catch (const std::runtime_error&) {
      return otherwise;
    }
  }

  bool compared(const std::string& where, const ReferenceRun& expected) {
    const std::vector<OrtValue> inputs = session_inputs(expected);
    const std::vector<OrtValue>& actual = actual_;
    again_.clear();
    try {
      actual_ = session_->run(inputs);
    } catch (const std::runtime_error& e) {
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
      if (r_.half != DType::Undefined && !is_drawn(i)) {
        if (rounded_right(i, where, actual[outputs_[i]], expected.outputs[i])) continue;
        return false;
      }
      const std::string what = is_drawn(i)
                                   ? form_difference(i, actual[outputs_[i]], expected.outputs[i])
                                   : difference(i, actual[outputs_[i]], expected.outputs[i]);
      if (what.empty() ||
          (!is_drawn(i) && is_rounding(i, actual[outputs_[i]], expected.outputs[i])))
        continue;
      v_.mismatch =
          "output '" + r_.output_names[i] + "' differs from LibTorch's" + where + ": " + what;
      return false;
    }
    measure(expected.inputs);
    return true;
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

  std::string difference(size_t output, const OrtValue& actual, const OrtValue& expected) {
    if (actual.kind != expected.kind) return "a sequence and a tensor";
    if (expected.kind == OrtValue::Kind::Tensor)
      return difference(output, *actual.tensor, *expected.tensor);
    if (actual.sequence.size() != expected.sequence.size())
      return plural(actual.sequence.size(), "element") + ", LibTorch has " +
             std::to_string(expected.sequence.size());
    for (size_t i = 0; i < expected.sequence.size(); ++i) {
      const std::string what = difference(output, *actual.sequence[i], *expected.sequence[i]);
      if (!what.empty()) return "element " + std::to_string(i) + ": " + what;
    }
    return {};
  }

  // Results that cancel, or come from computed coordinates, differ by more than the tolerance
  // between any two ways to compute them in float32. A run in float64 tells that from a mistake;
  // who gave a tolerance has that one.
  bool is_rounding(size_t output, const OrtValue& actual, const OrtValue& expected) {
    const Tolerance given = tolerance_of(r_, r_.output_names[output]);
    if (!r_.in_type || given.atol >= 0 || given.rtol >= 0) return false;
    const DType coarsest =
        output < r_.lineage.size() ? r_.lineage[output].coarsest : DType::Undefined;
    const std::vector<TensorPtr> a = tensors_of(actual), e = tensors_of(expected);
    if (actual.kind != expected.kind || a.size() != e.size()) return false;
    // LibTorch's own result is in float64 where the output is, whatever ONNX Runtime computed in.
    bool same =
        std::ranges::all_of(e, [](const TensorPtr& t) { return t->dtype() == DType::Double; });
    std::vector<TensorPtr> exact = e;
    try {
      if (!same) {
        const std::vector<OrtValue> all = r_.in_type(DType::Double);
        if (output >= all.size() || all[output].kind != expected.kind) return false;
        exact = tensors_of(all[output]);
      }
    } catch (const std::runtime_error&) {
      return false;
    }
    same = exact.size() == e.size();
    for (size_t i = 0; same && i < e.size(); ++i)
      same = compare(*a[i], *e[i], given).ok || as_exact_as(*a[i], *e[i], *exact[i], coarsest);
    v_.judged += same;
    return same;
  }
  static std::vector<TensorPtr> tensors_of(const OrtValue& v) {
    return v.kind == OrtValue::Kind::Tensor ? std::vector<TensorPtr>{v.tensor} : v.sequence;
  }

  std::string difference(size_t output, const Tensor& actual, const Tensor& expected) {
    const Comparison c = compare(actual, expected, tolerance_of(r_, r_.output_names[output]));
    v_.max_abs = std::max(v_.max_abs, c.max_abs);
    return c.ok ? std::string() : c.message.empty() ? "it is another" : c.message;
  }

  Ort& ort_;
  const Request& r_;
  const Clock::time_point begin_ = Clock::now();
  std::unique_ptr<Ort::Session> session_;
  std::optional<CoverageMeter> meter_;
  std::vector<std::string> names_;
  std::vector<size_t> outputs_;                   // position in the session's outputs
  std::vector<OrtValue> actual_;                  // of the last run
  std::set<size_t> tied_;                         // outputs that rounding decided once
  std::map<DType, std::vector<OrtValue>> again_;  // the outputs of the last run in other types
  bool accepted_ = false;                         // whether LibTorch ran the last sizes
  std::string refusal_;
  Verification v_;
};

}  // namespace

std::unique_ptr<Ort::Session> open(Ort& ort, const Request& r) {
  return r.bytes.empty() ? ort.open_file(r.model, r.threads) : ort.open_bytes(r.bytes, r.threads);
}

Tolerance tolerance_of(const Request& r, const std::string& output) {
  Tolerance t;
  for (const bool general : {true, false}) {  // what is said for one output outweighs the rest
    for (const auto& [name, v] : r.atol)
      if (general ? name.empty() : name == output) t.atol = v;
    for (const auto& [name, v] : r.rtol)
      if (general ? name.empty() : name == output) t.rtol = v;
  }
  return t;
}

Verification verify_model(Ort& ort, const Request& r) { return Driver(ort, r).run(); }

}  // namespace oe::verify
