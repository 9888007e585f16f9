// The stages from the program to ONNX at the target opset: lower > optimize > legalize.
#include "lib/pipeline/to_onnx.h"

#include <map>

#include "lib/lower/lower.h"
#include "lib/optimize/optimize.h"
#include "lib/support/text.h"
#include "opsets/opsets.h"

namespace oe {
namespace {

using lower::ExportType;

// Batch norms stay where somebody counts on them, or on the weights beside them, as they are.
optimize::Options optimize_options(const Options& o) {
  optimize::Options options = o.optimize;
  options.change_weights = o.optimize.constant_folding && o.load.training == Training::Eval &&
                           o.export_params && !o.modules_as_functions &&
                           (!o.to || o.to->keep.empty()) &&
                           o.write.external != onnx::WriteOptions::External::InPlace;
  return options;
}

// One walk down with what `lowering` lets stay.
ir::Model walk(const program::Program& p, const Options& o, const lower::LowerOptions& lowering,
               const StageWatch& watch, Diagnostics& d) {
  const auto begins = [&](const char* stage) {
    if (watch.begins) watch.begins(stage);
  };
  const auto ended = [&](const char* stage, const ir::Model& m) {
    if (watch.ended) watch.ended(stage, m);
  };
  begins("lower");
  ir::Model m = lower::lower(p, lowering, d);
  if (d.has_errors()) return m;
  ended("lower", m);
  begins("optimize");
  if (o.export_type == ExportType::Raw)
    optimize::cleanup(m, o.optimize);
  else
    optimize::optimize(m, optimize_options(o), watch.changed);
  optimize::name_output_dims(m);
  ended("optimize", m);
  begins("legalize");
  opsets::legalize(m, o.opset, o.ort_target, d);
  return m;
}

bool stayed(const ir::Node& n) {
  return !n.domain.empty() && n.domain != lower::UserRules::kDomain;
}

std::string value_names(const std::vector<ir::Value*>& values) {
  std::vector<std::string> names;
  for (const ir::Value* v : values)
    if (v) names.push_back(v->name);
  return join(names, ", ");
}

// The nodes that stayed, with the tensors at which another runtime's part begins and ends: one note
// an operator.
void tell_kept(ir::Model& m, Diagnostics& d) {
  std::map<std::string, std::vector<std::string>> nodes;  // by what they stayed as
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) {
      if (!stayed(*n)) continue;
      const auto* aten = n->attributes.get<std::string>("operator");
      nodes[n->domain + "." + n->op + (aten ? "[" + *aten + "]" : "")].push_back(
          "\n      " + n->name + "    " + value_names(n->inputs) + " -> " +
          value_names(n->outputs));
    }
  });
  for (const auto& [op, lines] : nodes)
    d.report({"OE0302", Severity::Note, "",
              plural(lines.size(), "node") + " stayed as " + op + ":" + join(lines, ""), "",
              nullptr, 0});
}

}  // namespace

ir::Model to_onnx(const program::Program& p, const Options& o, const lower::UserRules& rules,
                  const StageWatch& watch, Diagnostics& d) {
  lower::LowerOptions lowering{o.export_type, o.custom_opsets, &rules, {}};
  const bool may_stay =
      o.export_type == ExportType::OnnxAtenFallback || o.export_type == ExportType::OnnxFallthrough;
  for (;;) {
    Diagnostics attempt;
    ir::Model m = walk(p, o, lowering, watch, attempt);
    // What only the target opset cannot say is lowered again, as what it is.
    bool again = false;
    for (const Diagnostic& problem : attempt.all())
      if (may_stay && problem.needs_opset > 0 && problem.origin)
        again |= lowering.kept.insert(problem.origin).second;
    if (again) continue;
    for (const Diagnostic& problem : attempt.all()) d.report(problem);
    if (attempt.has_errors()) return m;
    if (watch.ended) watch.ended("legalize", m);
    if (may_stay) tell_kept(m, d);
    rules.expand(m, o.custom_opsets, d);
    if (!d.has_errors()) optimize::finish(m, o.optimize);
    return m;
  }
}

void report_opset_limits(const program::Program& p, const Options& o, const lower::UserRules& rules,
                         Diagnostics& d) {
  Diagnostics attempt;
  walk(p, o, {ExportType::OnnxFallthrough, o.custom_opsets, &rules, {}}, {}, attempt);
  for (const Diagnostic& problem : attempt.all())
    if (problem.needs_opset > 0) d.report(problem);
}

}  // namespace oe
