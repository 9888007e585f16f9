// The first half of the chain, which convert and check share: load > inputs > capture.
#include "lib/pipeline/captured_model.h"

#include <algorithm>

#include "lib/lower/lower.h"
#include "lib/pipeline/example.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"
#include "lib/torch/module_classes.h"
#include "lib/torch/runtime.h"
#include "lib/torch/state.h"

namespace oe {
namespace {

// Keys of --dynamic-axes that were no input have to be outputs.
void require_known_axes(const torch_io::ExampleInputs& e, const program::Program& p,
                        const Options& o) {
  std::vector<std::string> known = o.output_names;
  for (const program::Port& port : p.outputs) known.push_back(port.name);
  for (const auto& [from, to] : o.renames) known.push_back(to);
  for (const std::string& key : e.output_axes_unresolved) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    for (const torch_io::InputLeaf& l : e.leaves) known.push_back(l.name);
    std::string hint = did_you_mean(key, known);
    throw Failure(ExitCode::Usage, "OE0211",
                  "--dynamic-axes: the model has no input or output '" + key + "'",
                  hint.empty() ? "it has " + join(known, ", ") : hint);
  }
}

// Classes of --modules-as-functions have to be those of modules.
void require_known_classes(const torch::jit::Module& m, const Options& o) {
  std::vector<std::string> known;
  for (const std::string& name : torch_io::module_classes(m)) {
    known.push_back(name);
    known.push_back(name.substr(name.rfind('.') + 1));
  }
  for (const std::string& name : o.function_classes)
    if (std::find(known.begin(), known.end(), name) == known.end()) {
      const std::string hint = did_you_mean(name, known);
      throw Failure(ExitCode::Usage, "OE0226",
                    "--modules-as-functions: no module inside the model is a '" + name + "'",
                    hint.empty() && !known.empty() ? "there are " + join(known, ", ") : hint);
    }
}

rules::Rules configured_rules(const Options& o) {
  torch_io::configure(o.load);
  return rules::read(o.symbolics, o.custom_schemas);
}

}  // namespace

LoadedModel::LoadedModel(const Options& o, Diagnostics& d)
    : rules(configured_rules(o)),
      user_rules(rules, o.opset),
      module(torch_io::load(o.load, rules)) {
  for (const torch_io::Loaded::Note& note : module.notes)
    d.report({note.code, Severity::Warning, "", note.text, "", nullptr, 0});
  require_known_classes(module.module, o);
  inputs = example_inputs(o, module, files, found);
}

capture::Captured capture_model(LoadedModel& m, const Options& o, Outcome& outcome, Stages& stages,
                                Diagnostics& d) {
  const auto complete = [&] {
    find_free_axes(o, m.module, m.found, m.inputs, outcome, stages.out());
    // In train mode they come back as initializers: nothing was folded into them.
    const bool kept_whole = m.module.training && o.capture.state == State::Discard;
    if (!o.export_params || kept_whole)
      torch_io::add_parameters(m.module.module, !o.export_params, m.inputs);
  };
  const auto writable = [&](std::string_view op) {
    return m.user_rules.find(op) || lower::has_row(op);
  };
  const auto told = [&](const std::string& how, const std::string& ended) {
    // The reason may quote what the model raises.
    if (o.verbosity > 0) stages.out() << "# capture, " << how << ": " << safe_line(ended) << "\n";
  };
  complete();
  stages.begin("capture");
  capture::Captured captured;
  try {
    captured = capture::capture(m.module, m.inputs, o.capture, writable, d, told);
  } catch (const capture::InputsRefused&) {
    // Found without data: with data LibTorch refuses them.
    if (!m.found.guessed) throw;
    const infer::Found refused = m.found;
    m.inputs = example_inputs(o, m.module, m.files, m.found, &refused);
    complete();
    captured = capture::capture(m.module, m.inputs, o.capture, writable, d, told);
  }
  report_doubts(o, outcome, d);
  outcome.assumptions = captured.assumptions;
  for (const std::string& a : captured.assumptions)
    d.report({"OE0301", Severity::Warning, "", "assumed: " + a, "", nullptr, 0});
  if (d.has_errors()) return captured;
  stages.made(captured.program);
  require_known_axes(m.inputs, captured.program, o);
  return captured;
}

}  // namespace oe
