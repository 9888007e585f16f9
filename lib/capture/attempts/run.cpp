#include "lib/capture/attempts/run.h"

#include <algorithm>
#include <map>

#include "lib/capture/attempts/left_out.h"
#include "lib/capture/executor.h"
#include "lib/capture/ports/joined_axis_names.h"
#include "lib/capture/ports/persistent_state.h"
#include "lib/capture/ports/ports.h"
#include "lib/capture/ports/prune.h"

namespace oe::capture {
namespace {

Plan plan_of(const Job& job, const Attempt& how) {
  const CaptureOptions& o = job.options;
  Plan plan;
  plan.mode = o.mode;
  plan.unroll = how.unroll;
  plan.places = how.views;
  plan.made_up = how.made_up;
  plan.writable = job.writable;
  plan.fold_limit = o.fold_limit;
  return plan;
}

// The values of the input leaves in world w.
std::vector<c10::IValue> leaves_in(const Job& job, const std::vector<World>& worlds, size_t w) {
  const torch_io::ExampleInputs& inputs = job.inputs;
  const size_t like = worlds[w].of.value_or(w);
  const uint64_t seed = inputs.options.seed + (like == 0 ? 0 : 1000 + like);
  const Draw draw{shapes_at(inputs, job.axes, worlds[w].sizes), seed,
                  std::vector<Variation>(inputs.leaves.size(), worlds[like].variation)};
  auto leaves = torch_io::leaf_values(inputs, torch_io::drawn_arguments(inputs, draw));
  if (worlds[w].alternative)
    std::ranges::copy(inputs.alternatives[*worlds[w].alternative], leaves.begin());
  return leaves;
}

// The dynamic axes as symbols of the program: their ids, by name.
std::map<std::string, int> add_symbols(Executor& ex, const Job& job,
                                       const std::vector<World>& worlds) {
  std::map<std::string, int> ids;
  for (size_t i = 0; i < job.axes.size(); ++i) {
    const DynamicAxis& axis = job.axes[i];
    Symbol s{axis.name, ex.recorder.new_axis_id(), {}, axis.low, axis.high};
    for (const World& w : worlds) s.sizes.push_back(w.sizes[i]);
    ids[s.name] = s.axis_id;
    ex.recorder.add_symbol(std::move(s));
  }
  return ids;
}

// The result of the method.
AbstractValue call_method(Executor& ex, const Job& job,
                          const std::vector<std::vector<c10::IValue>>& leaves,
                          const std::map<std::string, int>& ids) {
  const torch_io::ExampleInputs& inputs = job.inputs;
  std::vector<AbstractValue> args = make_arguments(ex, inputs, leaves, ids);
  AbstractValue self = ex.values.constant(job.module.module._ivalue(), "");
  for (const torch_io::AttributeArgument& a : inputs.state)
    ex.values.begin_with(a.path, self, args.at(a.argument));
  for (const auto& [path, of] : inputs.tied)
    ex.values.begin_with(path, self, args.at(inputs.state[of].argument));
  args.resize(inputs.own_arguments());
  try {
    return ex.interpreter.run_method(self, job.module.method, std::move(args));
  } catch (const Raised& r) {
    throw InputsRefused("OE2102", "the model raises on this input: " + r.message);
  }
}

}  // namespace

Recorded Runs::operator()(const std::vector<World>& worlds) {
  Recorded r;
  std::vector<std::vector<c10::IValue>> leaves;
  Plan plan = plan_of(job_, how_);
  for (size_t w = 0; w < worlds.size(); ++w) {
    r.captured.worlds.push_back(shapes_at(job_.inputs, job_.axes, worlds[w].sizes));
    const bool own = worlds[w].alternative || worlds[w].sizes == worlds[0].sizes;
    plan.trials.push_back(own ? "" : trial_text(job_, worlds[w].sizes));
    plan.entries.push_back(worlds[w].entry);
    leaves.push_back(leaves_in(job_, worlds, w));
  }
  worlds_ = worlds.size();
  Executor ex(r.captured.program, std::move(plan));
  const std::map<std::string, int> ids = add_symbols(ex, job_, worlds);
  AbstractValue result;
  try {
    result = call_method(ex, job_, leaves, ids);
    loops_kept_ |= ex.control.kept_by_choice();
  } catch (const Failure&) {
    loops_kept_ |= ex.control.kept_by_choice();
    throw;
  }
  using Kind = program::Result::Kind;
  r.captured.program.results.method = result.is(K::None)
                                          ? program::Result{Kind::Absent}
                                          : add_outputs(ex, result, "", r.diagnostics);
  add_state_outputs(ex, job_.inputs, job_.module.method, job_.options.state, r.captured,
                    r.diagnostics);
  r.captured.assumptions = ex.assumed.said();
  r.dead = ex.worlds.dead();
  r.dropped = ex.assumed.dropped_branches();
  r.missed = ex.assumed.missed();
  prune(r.captured.program);
  join_axis_names(r.captured.program);
  return r;
}

}  // namespace oe::capture
