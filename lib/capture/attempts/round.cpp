#include "lib/capture/attempts/round.h"

#include <algorithm>

#include "lib/capture/attempts/extension.h"
#include "lib/capture/attempts/left_out.h"
#include "lib/capture/attempts/run.h"
#include "lib/capture/operators/apply.h"

namespace oe::capture {
namespace {

class Round {
 public:
  Round(const Job& job, const Attempt& how) : job_(job), how_(how), run_(job, how), left_out_(job) {
    for (const DynamicAxis& a : job.axes) {
      example_.push_back(a.example);
      smallest_.push_back(a.low <= 1 ? 1 : a.low);
      const std::vector<int64_t> sizes = other_sizes(a, other_.size());
      other_.push_back(how.round < sizes.size() ? sizes[how.round] : a.example);
      rounds_ = std::max(rounds_, sizes.size());
    }
    refusals_.resize(job.axes.size());
  }

  void run(Outcome& out) {
    choose_worlds();
    Recorded r = run_(worlds_);
    require_alternatives(r);
    std::vector<size_t> unproven = unproven_axes(r);
    out.smallest_ran = !smallest_at_ || !r.dead.contains(*smallest_at_);
    const bool proven = !other_died(r) && unproven.empty();
    if (!proven && how_.round + 1 < rounds_) {
      out.ended = Ended::NeedsOtherSizes;
      out.why = r.dead.empty() ? "an axis has one size" : r.dead.begin()->second;
      return;
    }
    vary_alone(r, unproven);
    Extension(run_).extend(r, worlds_);
    for (const size_t i : unproven) report_unproven(i, out.diagnostics);
    for (const Diagnostic& d : r.diagnostics.all()) out.diagnostics.report(d);
    left_out_.report(out.diagnostics);
    r.captured.worlds = alive(r);
    out.captured = std::move(r.captured);
  }

  const Runs& runs() const { return run_; }

 private:
  void choose_worlds() {
    worlds_ = {{example_, {}, {}}};
    if (other_ != example_ && !left_out_.contains(other_)) {
      other_at_ = worlds_.size();
      worlds_.push_back({other_, {}, {}});
    }
    if (how_.smallest && smallest_ != example_ && smallest_ != other_ &&
        !left_out_.contains(smallest_)) {
      smallest_at_ = worlds_.size();
      worlds_.push_back({smallest_, {}, {}});
    }
    add_alternatives();
  }

  // A world for each further example whose sizes are others.
  void add_alternatives() {
    constexpr size_t most = 8;
    const auto& alternatives = job_.inputs.alternatives;
    for (size_t k = 0; k < std::min(most, alternatives.size()); ++k) {
      World w;
      for (const DynamicAxis& a : job_.axes) {
        const auto [leaf, axis] = a.places.front();
        w.sizes.push_back(leaf < alternatives[k].size()
                              ? alternatives[k][leaf].toTensor().sizes().at(axis)
                              : a.example);
      }
      w.alternative = k;
      if (std::ranges::none_of(worlds_,
                               [&](const World& x) { return x.alternative && x.sizes == w.sizes; }))
        worlds_.push_back(std::move(w));
    }
  }

  // Further examples are the user's own: each has to run.
  void require_alternatives(const Recorded& r) const {
    for (const auto& [w, message] : r.dead)
      if (worlds_[w].alternative)
        throw Failure(ExitCode::Refused, "OE2103",
                      "LibTorch rejects the further example of sizes " +
                          trial_text(job_, worlds_[w].sizes) + ": " + message);
  }

  bool other_died(const Recorded& r) const {
    return other_ != example_ && (!other_at_ || r.dead.contains(*other_at_));
  }

  // Those of which no world with another size than the example's ran to the end.
  std::vector<size_t> unproven_axes(const Recorded& r) {
    std::vector<size_t> unproven;
    for (size_t i = 0; i < example_.size(); ++i) {
      bool proven = false;
      for (size_t w = 1; w < worlds_.size(); ++w)
        proven = proven || (!r.dead.contains(w) && worlds_[w].sizes[i] != example_[i]);
      if (!proven) unproven.push_back(i);
      for (const auto& [w, message] : r.dead)
        if (worlds_[w].sizes[i] != example_[i]) refusals_[i] = ": " + message;
    }
    return unproven;
  }

  // Together with others an axis may have died by their fault: each that is not proven varies
  // alone. What runs becomes one of the worlds, and takes the axis out of `unproven`.
  void vary_alone(Recorded& r, std::vector<size_t>& unproven) {
    if (job_.axes.size() < 2) return;  // was alone
    std::erase_if(unproven, [&](size_t i) {
      for (const int64_t size : other_sizes(job_.axes[i], 0)) {
        World alone = {example_, {}, {}};
        alone.sizes[i] = size;
        if (left_out_.contains(alone.sizes)) continue;
        std::vector<World> more = worlds_;
        more.push_back(std::move(alone));
        Recorded b = run_(more);
        if (b.dead.contains(worlds_.size())) continue;
        r = std::move(b);
        worlds_ = std::move(more);
        return true;
      }
      return false;
    });
  }

  void report_unproven(size_t i, Diagnostics& d) const {
    d.report({"OE2203", Severity::Warning, "",
              "axis '" + job_.axes[i].name +
                  "' is declared dynamic, but LibTorch ran at no other size than " +
                  std::to_string(example_[i]) + refusals_[i],
              job_.inputs.state.empty()
                  ? ""
                  : "state may have to follow it: --dynamic-axes " +
                        job_.inputs.leaves.back().name + ":AXIS=" + job_.axes[i].name,
              nullptr, 0});
  }

  // The shapes of the worlds that ran, each once.
  std::vector<Shapes> alive(const Recorded& r) const {
    std::vector<Shapes> out;
    for (size_t w = 0; w < r.captured.worlds.size(); ++w)
      if (!r.dead.contains(w) && !worlds_[w].of &&
          worlds_[w].variation.kind == Variation::Kind::None &&
          std::ranges::find(out, r.captured.worlds[w]) == out.end())
        out.push_back(r.captured.worlds[w]);
    return out;
  }

  const Job& job_;
  const Attempt& how_;
  Runs run_;
  const LeftOutSizes left_out_;
  std::vector<int64_t> example_, other_, smallest_;  // of the axes
  size_t rounds_ = 0;
  std::vector<World> worlds_;
  std::optional<size_t> other_at_, smallest_at_;  // their places in worlds_
  std::vector<std::string> refusals_;             // the last one at another size, by axis
};

// Whether a value without a rank is an output.
bool lacks_rank(const Captured& c) {
  return std::ranges::any_of(c.program.outputs, [](const program::Port& port) {
    const program::Value* v = port.value.value();
    return v && v->type.kind == program::Type::Kind::Optional && !v->type.element->shape;
  });
}

Ended ended_by(const Failure& f, Need need) {
  switch (need) {
    case Need::Views:
      return Ended::NeedsViews;
    case Need::MadeUpValues:
      return Ended::NeedsMadeUp;
    case Need::Operators:
      return Ended::MissingOperators;
    case Need::Nothing:
      break;
  }
  return f.exit_code == ExitCode::Unsupported ? Ended::Unsupported : Ended::Refused;
}

}  // namespace

Outcome attempt(const Job& job, const Attempt& how) {
  Outcome out;
  Round round(job, how);
  const auto failed = [&](const Failure& f, Need need) {
    out.ended = ended_by(f, need);
    out.why = f.diagnostic_code + ": " + f.what();
    out.failure = std::current_exception();
  };
  try {
    round.run(out);
  } catch (const AsksAutograd&) {
    out.ended = Ended::NeedsAutograd;
    out.why = "the model asks whether a computed tensor requires a gradient";
  } catch (const Refusal& r) {
    failed(r, r.need);
  } catch (const Failure& f) {
    failed(f, Need::Nothing);
  }
  out.worlds = round.runs().worlds();
  out.loops_kept = round.runs().loops_kept();
  if (out.ended == Ended::Captured && out.loops_kept && how.unroll < kNoLimit &&
      (!out.captured->assumptions.empty() || lacks_rank(*out.captured))) {
    out.ended = Ended::NeedsUnrolling;
    out.why = "values after a kept loop are not known";
  }
  return out;
}

}  // namespace oe::capture
