// Stage: runs the method in the chosen worlds and turns inputs and outputs into ports.
#include "lib/capture/capture.h"

#include <ATen/core/grad_mode.h>
#include <c10/core/GradMode.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "lib/capture/carried.h"
#include "lib/capture/executor.h"
#include "lib/capture/missing.h"
#include "lib/capture/ports.h"
#include "lib/capture/prune.h"
#include "lib/capture/sizes.h"
#include "lib/support/text.h"
#include "lib/support/trial.h"

namespace oe::capture {
namespace {

std::string trial_text(const torch_io::ExampleInputs& inputs, const std::vector<DynamicAxis>& axes,
                       const std::vector<int64_t>& sizes) {
  std::vector<std::string> names;
  for (const torch_io::InputLeaf& l : inputs.leaves) names.push_back(l.name);
  return sizes_text(names, shapes_at(inputs, axes, sizes));
}

// Sizes at which LibTorch ended an earlier process: what is left out, and why.
class LeftOutSizes {
 public:
  LeftOutSizes(const Options& o, const torch_io::ExampleInputs& inputs,
               const std::vector<DynamicAxis>& axes)
      : o_(o), inputs_(inputs), axes_(axes) {}

  bool contains(const std::vector<int64_t>& sizes) const {
    const std::string text = trial_text(inputs_, axes_, sizes);
    return std::ranges::any_of(o_.left_out, [&](const LeftOut& l) { return l.sizes == text; });
  }
  void report(Diagnostics& d) const {
    for (const LeftOut& l : o_.left_out) {
      if (l.sizes == kAsked || l.sizes == kLookedFor || l.sizes == kMadeUp) continue;
      d.report({"OE2204", Severity::Warning, "",
                "LibTorch ended the process in " + l.op + " at " + l.sizes + other_axes(l) +
                    ": the operator does not check its sizes; these were left out",
                "axes that have to agree need one name: --dynamic-axes x:1=batch,h:1=batch",
                nullptr, 0});
    }
  }

 private:
  // " (axis 'batch' of 7)"
  std::string other_axes(const LeftOut& l) const {
    std::string out;
    const std::vector<std::string> leaves = oe::split(l.sizes, ' ');
    for (const DynamicAxis& a : axes_) {
      const auto [leaf, axis] = a.places.front();
      const std::string& text = leaf < leaves.size() ? leaves[leaf] : std::string();
      const size_t open = text.rfind('[');
      if (open == std::string::npos) continue;
      const auto sizes = oe::split(text.substr(open + 1, text.size() - open - 2), ',');
      if (axis < sizes.size() && sizes[axis] != std::to_string(a.example))
        out += (out.empty() ? " (" : ", ") + ("axis '" + a.name + "' of ") + sizes[axis];
    }
    return out.empty() ? out : out + ")";
  }

  const Options& o_;
  const torch_io::ExampleInputs& inputs_;
  const std::vector<DynamicAxis>& axes_;
};

// One run of the model among those that are executed side by side.
struct World {
  std::vector<int64_t> sizes;  // of the dynamic axes
  std::optional<size_t> of;    // it has the inputs of this other one, and enters loops elsewhere
  Iterations entry;
  Variation variation = {};                // of every input that was drawn
  std::optional<size_t> alternative = {};  // it has the values of this further example
};

struct Attempt {
  Captured captured;
  std::unordered_map<size_t, std::string> dead;
  size_t dropped = 0;          // branches that ran in no world
  std::vector<Missed> missed;  // those that a loop takes in a later iteration
  Diagnostics diagnostics;
};

// What is captured, and how.
struct Job {
  const torch_io::Loaded& m;
  const torch_io::ExampleInputs& inputs;
  const Options& o;
  const Writable& writable;
  const std::vector<DynamicAxis>& axes;
  int64_t unroll;               // longest loop that is unrolled
  bool places = false;          // Plan::places
  bool made_up = false;         // Plan::made_up
  bool kept_by_choice = false;  // a longer one was met and kept
};

Attempt run(Job& job, const std::vector<World>& worlds) {
  const auto& [m, inputs, o, writable, axes, unroll, places, made_up, unused] = job;
  Attempt a;
  std::vector<std::vector<c10::IValue>> leaves;
  Plan plan;
  plan.mode = o.mode;
  plan.unroll = unroll;
  plan.places = places;
  plan.made_up = made_up;
  plan.writable = writable;
  if (o.constant_folding) plan.fold_limit = o.fold_limit;
  for (const World& w : worlds) {
    a.captured.worlds.push_back(shapes_at(inputs, axes, w.sizes));
    const bool own = w.alternative || w.sizes == worlds[0].sizes;
    plan.trials.push_back(own ? "" : trial_text(inputs, axes, w.sizes));
    const size_t like = w.of.value_or(leaves.size());
    const uint64_t seed = inputs.seed + (like == 0 ? 0 : 1000 + like);
    const Draw draw{a.captured.worlds.back(), seed,
                    std::vector<Variation>(inputs.leaves.size(), worlds[like].variation)};
    leaves.push_back(torch_io::leaf_values(inputs, torch_io::drawn_arguments(inputs, draw)));
    if (w.alternative)
      std::ranges::copy(inputs.alternatives[*w.alternative], leaves.back().begin());
    plan.entries.push_back(w.entry);
  }
  Executor ex(a.captured.program, std::move(plan));
  std::map<std::string, int> ids;
  for (size_t i = 0; i < axes.size(); ++i) {
    Symbol s{axes[i].name, ex.recorder.new_axis_id(), {}, axes[i].low, axes[i].high};
    for (const World& w : worlds) s.sizes.push_back(w.sizes[i]);
    ids[s.name] = s.axis_id;
    ex.recorder.add_symbol(std::move(s));
  }
  std::vector<Sym> args = make_arguments(ex, inputs, leaves, ids);
  Sym self = ex.values.constant(m.module._ivalue(), "");
  const size_t own = args.size() - inputs.state.size();
  for (size_t i = 0; i < inputs.state.size(); ++i)
    ex.values.begin_with(inputs.state[i], self, args[own + i]);
  for (const auto& [path, of] : inputs.tied) ex.values.begin_with(path, self, args[own + of]);
  args.resize(own);
  Sym result;
  try {
    result = ex.interpreter.run_method(self, m.method, std::move(args));
    job.kept_by_choice |= ex.control.kept_by_choice();
  } catch (const Raised& r) {
    throw Failure(ExitCode::Refused, "OE2102", "the model raises on this input: " + r.message);
  } catch (const Failure&) {
    job.kept_by_choice |= ex.control.kept_by_choice();
    throw;
  }
  if (!result.is(K::None)) add_outputs(ex, result, "", a.diagnostics);
  add_state_outputs(ex, inputs, o, a.captured, a.diagnostics);
  a.captured.assumptions = ex.assumed.said();
  a.dead = ex.worlds.dead();
  a.dropped = ex.assumed.dropped_branches();
  a.missed = ex.assumed.missed();
  prune(a.captured.program);
  return a;
}

// Unless that ended the process before.
bool may_make_up(const Options& o) {
  return std::ranges::none_of(o.left_out, [](const LeftOut& l) { return l.sizes == kMadeUp; });
}

// The same, where need be with made-up values for the body of a loop that runs nowhere.
Attempt run_all(Job& job, const std::vector<World>& worlds) {
  try {
    return run(job, worlds);
  } catch (const Failure& f) {
    if (job.made_up || !may_make_up(job.o) ||
        (f.diagnostic_code != "OE4056" && f.diagnostic_code != "OE4061"))
      throw;
  }
  job.made_up = true;
  return run(job, worlds);
}

// Worlds that run what none has run yet: branches that larger sizes or later iterations reach.
class Extension {
 public:
  explicit Extension(Job& job) : job_(job), axes_(job.axes) {}

  void extend(Attempt& a, std::vector<World>& worlds) {
    while (!a.missed.empty()) follow(a, worlds);
    for (const int64_t base : {16, 64}) {
      if (axes_.empty()) break;
      World large, even;  // even: sizes that can be halved and cut in three
      for (size_t i = 0; i < axes_.size(); ++i) {
        const auto place = static_cast<int64_t>(i);
        const int64_t size = 2 * axes_[i].example + base + place;
        large.sizes.push_back(std::clamp(size, axes_[i].low, axes_[i].high));
        even.sizes.push_back(std::clamp((size / 48 + 1 + place) * 48, axes_[i].low, axes_[i].high));
      }
      offer(a, worlds, std::move(large));
      offer(a, worlds, std::move(even));
    }
    for (const Variation::Kind sign : {Variation::Kind::Positive, Variation::Kind::Negative})
      offer(a, worlds, {worlds[0].sizes, {}, {}, {sign, 0}});
    for (const int64_t iteration : {1, 3}) offer(a, worlds, {worlds[0].sizes, 0, {{}, iteration}});
    make_up(a, worlds);
  }

 private:
  static constexpr size_t kMostWorlds = 24;
  static_assert(kMostWorlds < Worlds::kMost);

  // A loop took a branch that the first iteration could not run: a world goes where that was.
  void follow(Attempt& a, std::vector<World>& worlds) {
    for (const Missed& m : a.missed) {
      if (!followed_.insert(m.branch).second || worlds.size() >= kMostWorlds) throw m.refusal;
      const size_t of = worlds[m.world].of.value_or(m.world);
      worlds.push_back({worlds[of].sizes, of, m.iterations});
    }
    a = run(job_, worlds);
  }

  // One more world, kept when a branch that ran in none runs in it.
  void offer(Attempt& a, std::vector<World>& worlds, World more) {
    if (a.dropped == 0 || LeftOutSizes(job_.o, job_.inputs, axes_).contains(more.sizes)) return;
    std::vector<World> extended = worlds;
    extended.push_back(std::move(more));
    Attempt b = run(job_, extended);
    if (b.dropped >= a.dropped || b.dead.contains(worlds.size())) return;
    a = std::move(b);
    worlds = std::move(extended);
    while (!a.missed.empty()) follow(a, worlds);
  }

  // What still ran in no world, on values of the right type.
  void make_up(Attempt& a, const std::vector<World>& worlds) {
    if (a.dropped == 0 || job_.made_up || !may_make_up(job_.o)) return;
    const Restore before{job_.made_up};
    job_.made_up = true;
    try {
      Attempt b = run(job_, worlds);
      if (b.dropped < a.dropped && b.missed.empty()) a = std::move(b);
    } catch (const Failure&) {
      // Such a branch cannot be said in ONNX: that it is never taken stays an assumption.
    }
  }

  Job& job_;
  const std::vector<DynamicAxis>& axes_;
  std::set<std::pair<const torch::jit::Node*, size_t>> followed_;
};

// A world for each further example whose sizes are others.
void add_alternatives(const Job& job, std::vector<World>& worlds) {
  constexpr size_t most = 8;
  for (size_t k = 0; k < std::min(most, job.inputs.alternatives.size()); ++k) {
    World w;
    for (const DynamicAxis& a : job.axes) {
      const auto [leaf, axis] = a.places.front();
      w.sizes.push_back(leaf < job.inputs.alternatives[k].size()
                            ? job.inputs.alternatives[k][leaf].toTensor().sizes().at(axis)
                            : a.example);
    }
    w.alternative = k;
    if (std::ranges::none_of(worlds,
                             [&](const World& x) { return x.alternative && x.sizes == w.sizes; }))
      worlds.push_back(std::move(w));
  }
}

// What the user says that the model runs on has to run.
void require_alternatives(const Job& job, const std::vector<World>& worlds, const Attempt& a) {
  for (const auto& [w, message] : a.dead)
    if (worlds[w].alternative)
      throw Failure(ExitCode::Refused, "OE2103",
                    "LibTorch does not run the model on the further example of sizes " +
                        trial_text(job.inputs, job.axes, worlds[w].sizes) + ": " + message);
}

// Together with others an axis may have died by their fault: each that is not proven varies alone.
// What runs becomes one of the worlds, and takes the axis out of `unproven`.
void vary_alone(Job& job, const LeftOutSizes& left_out, std::vector<World>& worlds, Attempt& a,
                std::vector<size_t>& unproven) {
  if (job.axes.size() < 2) return;  // was alone
  std::erase_if(unproven, [&](size_t i) {
    for (const int64_t size : other_sizes(job.axes[i], 0)) {
      World alone = {worlds[0].sizes, {}, {}};
      alone.sizes[i] = size;
      if (left_out.contains(alone.sizes)) continue;
      std::vector<World> more = worlds;
      more.push_back(std::move(alone));
      Attempt b = run_all(job, more);
      if (b.dead.contains(worlds.size())) continue;
      a = std::move(b);
      worlds = std::move(more);
      return true;
    }
    return false;
  });
}

// Runs the model in more and more worlds until every axis has one of another size that runs.
Captured capture(Job& job, Diagnostics& d) {
  const auto& [m, inputs, o, unused, axes, unroll, places, made_up, kept] = job;
  std::vector<std::vector<int64_t>> candidates;
  size_t most = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    candidates.push_back(other_sizes(axes[i], i));
    most = std::max(most, candidates.back().size());
  }
  std::vector<int64_t> example;
  for (const DynamicAxis& a : axes) example.push_back(a.example);

  const LeftOutSizes left_out(o, inputs, axes);
  std::vector<size_t> choice(axes.size(), 0);
  std::vector<std::string> refusals(axes.size());  // the last one at another size
  bool try_one = true;
  for (size_t round = 0;; ++round) {
    std::vector<World> worlds = {{example, {}, {}}};
    std::vector<int64_t> other, one;
    for (size_t i = 0; i < axes.size(); ++i) {
      other.push_back(choice[i] < candidates[i].size() ? candidates[i][choice[i]] : example[i]);
      one.push_back(axes[i].low <= 1 ? 1 : axes[i].low);
    }
    const bool skip_other = left_out.contains(other);
    if (other != example && !skip_other) worlds.push_back({other, {}, {}});
    const size_t one_at = worlds.size();  // if it is there
    if (try_one && one != example && one != other && !left_out.contains(one))
      worlds.push_back({one, {}, {}});
    add_alternatives(job, worlds);
    Attempt a = run_all(job, worlds);
    require_alternatives(job, worlds, a);

    // An axis is proven when a world with another size than the example's ran to the end.
    std::vector<size_t> unproven;
    for (size_t i = 0; i < axes.size(); ++i) {
      bool proven = false;
      for (size_t w = 1; w < worlds.size(); ++w)
        proven = proven || (!a.dead.contains(w) && worlds[w].sizes[i] != example[i]);
      if (!proven) unproven.push_back(i);
      for (const auto& [w, message] : a.dead)
        if (worlds[w].sizes[i] != example[i]) refusals[i] = ": " + message;
    }
    const bool larger_died = other != example && (skip_other || a.dead.contains(1));
    if ((!larger_died && unproven.empty()) || round + 1 >= std::max<size_t>(most, 1)) {
      vary_alone(job, left_out, worlds, a, unproven);
      Extension(job).extend(a, worlds);
      for (size_t i : unproven) {
        d.report({"OE2203", Severity::Warning, "",
                  "axis '" + axes[i].name +
                      "' is declared dynamic, but LibTorch ran at no other "
                      "size than " +
                      std::to_string(example[i]) + refusals[i],
                  inputs.state.empty() ? ""
                                       : "state may have to follow it: --dynamic-axes " +
                                             inputs.leaves.back().name + ":AXIS=" + axes[i].name,
                  nullptr, 0});
      }
      for (const Diagnostic& x : a.diagnostics.all()) d.report(x);
      left_out.report(d);
      std::vector<Shapes> alive;
      for (size_t w = 0; w < a.captured.worlds.size(); ++w)
        if (!a.dead.contains(w) && !worlds[w].of &&
            worlds[w].variation.kind == Variation::Kind::None &&
            std::ranges::find(alive, a.captured.worlds[w]) == alive.end())
          alive.push_back(a.captured.worlds[w]);
      a.captured.worlds = std::move(alive);
      return std::move(a.captured);
    }
    // A world of ones that died once dies again: leave it out and look further.
    if (one_at < worlds.size() && a.dead.contains(one_at)) try_one = false;
    for (size_t i = 0; i < axes.size(); ++i) ++choice[i];
  }
}

// Whether a value without a rank is an output.
bool lacks_rank(const Captured& c) {
  return std::ranges::any_of(c.program.outputs, [](const program::Port& port) {
    const program::Value* v = port.value.value();
    return v && v->type.kind == program::Type::Kind::Optional && !v->type.element->shape;
  });
}

// With loops kept, or all of them unrolled.
Captured capture_loops(Job job, Diagnostics& d) {
  Diagnostics kept;
  try {
    Captured with_loops = capture(job, kept);
    if (!job.kept_by_choice || (with_loops.assumptions.empty() && !lacks_rank(with_loops))) {
      for (const Diagnostic& x : kept.all()) d.report(x);
      return with_loops;
    }
  } catch (const Failure& f) {
    if (!job.kept_by_choice || f.exit_code != ExitCode::Unsupported) throw;
  }
  // What follows a long loop may need to know what it left: the length of a list, a number.
  job.unroll = std::numeric_limits<int64_t>::max();
  return capture(job, d);
}

Captured capture_all(const torch_io::Loaded& m, const torch_io::ExampleInputs& inputs,
                     const Options& o, const Writable& writable, Diagnostics& d) {
  const c10::AutoGradMode gradients(true);  // as torch.is_grad_enabled() says by default
  const std::vector<DynamicAxis> axes = dynamic_axes(inputs);
  Job job{m, inputs, o, writable, axes, o.unroll};
  const auto try_as = [&](bool places) {
    job.places = places;
    Diagnostics found;
    Captured captured = capture_loops(job, found);
    for (const Diagnostic& x : found.all()) d.report(x);
    return captured;
  };
  try {
    return try_as(false);
  } catch (const Failure& f) {
    if (f.diagnostic_code != "OE4020") throw;
    // Something is written that a list may hold: it has to know whose memory that is, which costs
    // more than the copies that do where nobody writes.
    try {
      return try_as(true);
    } catch (const Failure& g) {
      if (g.diagnostic_code == "OE4020") throw;
    }
    throw;
  }
}

// Until no more state is found that the method carries on.
Captured capture_rounds(const torch_io::Loaded& m, torch_io::ExampleInputs& inputs,
                        const Options& o, const Writable& writable, Diagnostics& d) {
  for (;;) {
    Diagnostics round;
    Captured c;
    try {
      const c10::InferenceMode inference;  // nothing is kept for a backward pass
      c = capture_all(m, inputs, o, writable, round);
    } catch (const AsksAutograd&) {
      round = {};
      c = capture_all(m, inputs, o, writable, round);
    }
    if (o.state == State::InputsAndOutputs && widen_state(o, m, c, inputs)) continue;
    if (c.program.outputs.empty())
      throw Failure(ExitCode::Refused, "OE2304", "the method '" + m.method + "' returns nothing",
                    "where it writes attributes, --state=outputs and --state=io return those");
    for (const Diagnostic& x : round.all()) d.report(x);
    return c;
  }
}

}  // namespace

Captured capture(const torch_io::Loaded& m, torch_io::ExampleInputs& inputs, const Options& o,
                 const Writable& writable, Diagnostics& d) {
  try {
    return capture_rounds(m, inputs, o, writable, d);
  } catch (const Failure& f) {
    if (f.diagnostic_code != kMissing) throw;
    report_missing(m.module, m.method, d);
    return {};
  }
}

}  // namespace oe::capture
