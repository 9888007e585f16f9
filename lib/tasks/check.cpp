// `check`: the chain up to the checked model, at one opset or at all; nothing is written.
#include "lib/tasks/check.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "lib/pipeline/captured_model.h"
#include "lib/pipeline/onnx_model.h"
#include "lib/pipeline/to_onnx.h"

namespace oe {
namespace {

using Made = std::optional<OnnxModel>;

// The captured model at another opset than the one that was asked for.
class AtOtherOpsets {
 public:
  AtOtherOpsets(const LoadedModel& m, const capture::Captured& c, const Options& o, Stages& stages)
      : loaded_(m), captured_(c), options_(o), stages_(stages) {}

  // What stops it there, one problem, is one too: rules that do not hold, the IR version.
  Made at(int64_t opset, Diagnostics& d) const {
    Options o = options_;
    o.opset = opset;
    o.print_ir.clear();
    try {
      const lower::UserRules rules(loaded_.rules, opset);
      Made made = onnx_model(loaded_, captured_, o, rules, stages_, d);
      if (!made) complete(captured_, o, rules, d);
      return made;
    } catch (const Failure& f) {
      d.report({f.diagnostic_code, Severity::Error, "", f.what(), f.hint, f.origin, 0});
      return std::nullopt;
    }
  }

  // Obstacles that stand behind those that are reported.
  static void complete(const capture::Captured& c, const Options& o, const lower::UserRules& rules,
                       Diagnostics& d) {
    const bool told = std::ranges::any_of(
        d.all(), [](const Diagnostic& problem) { return problem.needs_opset > 0; });
    if (!told) report_opset_limits(c.program, o, rules, d);
  }

 private:
  const LoadedModel& loaded_;
  const capture::Captured& captured_;
  const Options& options_;
  Stages& stages_;
};

// The opset that removes every error; 0 where none does.
int64_t needed_opset(const Diagnostics& d) {
  int64_t needed = 0;
  for (const Diagnostic& problem : d.all()) {
    if (problem.severity != Severity::Error) continue;
    if (problem.needs_opset == 0) return 0;
    needed = std::max<int64_t>(needed, problem.needs_opset);
  }
  return needed;
}

// The first opset above o.opset at which nothing is in the way; 0: none.
int64_t first_that_works(const AtOtherOpsets& model, int64_t opset, const Diagnostics& d) {
  for (int64_t next = needed_opset(d); next > opset;) {
    Diagnostics there;
    if (model.at(next, there)) return next;
    opset = std::exchange(next, needed_opset(there));
  }
  return 0;
}

size_t errors_in(const Diagnostics& d) {
  return static_cast<size_t>(std::ranges::count(d.all(), Severity::Error, &Diagnostic::severity));
}

}  // namespace

void check_model(const Options& o, Outcome& outcome, Diagnostics& d, std::ostream& out,
                 const Stages::OnStage& on_stage) {
  outcome.opset = o.opset;
  outcome.exit_code = ExitCode::Unsupported;
  Stages stages(o, outcome.times, out, on_stage);
  stages.begin("load");
  LoadedModel loaded(o, d);
  const capture::Captured captured = capture_model(loaded, o, outcome, stages, d);
  if (d.has_errors()) {
    if (o.strict) d.warnings_are_errors();
    return;
  }
  const Diagnostics of_capture = d;
  Made made = onnx_model(loaded, captured, o, loaded.user_rules, stages, d);
  if (made) {
    outcome.exit_code = ExitCode::Ok;
    if (o.verbosity > 0) out << ir::print(made->file()) << std::flush;
    describe(*made, loaded, o, outcome);
  } else {
    AtOtherOpsets::complete(captured, o, loaded.user_rules, d);
    if (o.strict) d.warnings_are_errors();
  }
  const AtOtherOpsets others(loaded, captured, o, stages);
  if (!made && !o.all_opsets) outcome.lowest_opset = first_that_works(others, o.opset, d);
  if (!o.all_opsets) return;
  for (int64_t opset = kOldestOpset; opset <= kNewestOpset; ++opset) {
    Diagnostics there = of_capture;
    Made model = opset == o.opset ? std::exchange(made, std::nullopt) : others.at(opset, there);
    const size_t obstacles = errors_in(opset == o.opset ? d : there);
    outcome.opsets.push_back(
        {opset, model.has_value(), obstacles, model ? node_count(model->file()) : 0});
    if (!model) continue;
    outcome.exit_code = ExitCode::Ok;
    if (!outcome.lowest_opset) outcome.lowest_opset = opset;
  }
}

}  // namespace oe
