// The middle of the chain, which convert and check share: lower > optimize > legalize > check, with
// the names the user asked for.
#include "lib/pipeline/onnx_model.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "lib/functions/outline.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "lib/optimize/optimize.h"
#include "lib/pipeline/names.h"
#include "lib/pipeline/to_onnx.h"
#include "lib/precision/precision.h"
#include "lib/support/text.h"
#include "lib/torch/convert.h"
#include "lib/torch/reference.h"

namespace oe {
namespace {

// Parameters that were inputs while the model was captured: those that nothing reads go, the others
// stay (--no-export-params) or get their values back.
void settle_parameters(ir::Model& m, const torch_io::ExampleInputs& e, const Options& o) {
  std::map<std::string_view, const torch_io::InputLeaf*> parameters;
  for (const torch_io::InputLeaf& leaf : e.leaves)
    if (leaf.role == torch_io::Role::Parameter) parameters[leaf.name] = &leaf;
  if (parameters.empty()) return;
  std::set<const ir::Value*> read;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) read.insert(n->inputs.begin(), n->inputs.end());
    read.insert(g.outputs.begin(), g.outputs.end());
  });
  for (ir::Value* v : std::exchange(m.graph.inputs, {})) {
    const auto it = parameters.find(v->name);
    if (it != parameters.end() && !read.contains(v)) continue;
    if (it == parameters.end() || !o.export_params) {
      m.graph.inputs.push_back(v);
      continue;
    }
    v->data = torch_io::to_host(it->second->value.toTensor());
    v->state = true;
    m.graph.initializers.push_back(v);
  }
}

// The number of leaves that are not parameters.
size_t without_parameters(const torch_io::ExampleInputs& e) {
  return static_cast<size_t>(std::ranges::count_if(e.leaves, [](const torch_io::InputLeaf& leaf) {
    return leaf.role != torch_io::Role::Parameter;
  }));
}

// How the model is written; where its initializers are inputs too, in state_dict order.
onnx::WriteOptions write_options(ir::Model& m, const Options& o,
                                 const std::vector<std::string>& state_names) {
  onnx::WriteOptions w = o.write;
  const bool has_to = m.ir_version < 4;
  if (has_to && o.keep_initializers == KeepInitializers::No)
    throw Failure(
        ExitCode::Usage, "OE0225",
        "--keep-initializers-as-inputs=no: below IR version 4 every initializer must be an input",
        "opset " + std::to_string(o.opset) + " can be written with --ir-version 4");
  w.initializers_as_inputs = has_to || o.keep_initializers == KeepInitializers::Yes;
  if (!w.initializers_as_inputs) return w;
  std::map<std::string, size_t> order;
  for (const std::string& name : state_names) order.emplace(name, order.size());
  const auto place = [&](const ir::Value* v) {
    auto it = order.find(v->name);
    // A transposed weight has its name with _t.
    if (it == order.end() && v->name.ends_with("_t"))
      it = order.find(v->name.substr(0, v->name.size() - 2));
    return it == order.end() ? order.size() : it->second;
  };
  std::stable_sort(m.graph.initializers.begin(), m.graph.initializers.end(),
                   [&](const ir::Value* a, const ir::Value* b) { return place(a) < place(b); });
  return w;
}

Port port_of(const ir::Value& v) {
  Port p;
  p.name = v.name;
  const ir::Type* t = &v.type;
  for (; t->kind == ir::Type::Kind::Sequence || t->kind == ir::Type::Kind::Optional;
       t = t->element.get())
    p.kind += t->kind == ir::Type::Kind::Sequence ? "sequence " : "optional ";
  p.kind = p.kind.empty() ? "tensor" : strip(p.kind);
  p.type = name(t->dtype);
  if (!t->shape) return p;
  p.dims.emplace();
  for (const Dim& d : *t->shape)
    p.dims->push_back({d.is_number() ? std::optional(d.number) : std::nullopt, d.symbol, {}, {}});
  return p;
}

// With the argument that it is, and the bounds that were declared for its axes.
Port input_port(const ir::Value& v, const LoadedModel& loaded, const Options& o) {
  Port p = port_of(v);
  for (const torch_io::InputLeaf& leaf : loaded.inputs.leaves) {
    if (renamed(leaf.name, o) != v.name) continue;
    p.argument = leaf.path.empty() ? leaf.name : leaf.path;
    for (size_t i = 0; p.dims && i < std::min(p.dims->size(), leaf.bounds.size()); ++i) {
      const auto [low, high] = leaf.bounds[i];
      PortAxis& axis = (*p.dims)[i];
      if (axis.size || low > high) continue;
      axis.low = low;
      axis.high = high;
    }
  }
  return p;
}

void require_accepted(const ir::Model& m, const Options& o) {
  if (o.checker == Checker::Off) return;
  const std::string problem = onnx::check(m, o.checker == Checker::Full);
  if (!problem.empty())
    throw Failure(ExitCode::Internal, "OE0005", "the ONNX checker rejects the result: " + problem,
                  "this is a bug in onnx-export; please report it with the model");
}

}  // namespace

std::optional<OnnxModel> onnx_model(const LoadedModel& loaded, const capture::Captured& c,
                                    const Options& o, const lower::UserRules& rules, Stages& stages,
                                    Diagnostics& d) {
  OnnxModel made{to_onnx(c.program, o, rules, stages.watch(), d), {}, {}, {}};
  if (d.has_errors()) return std::nullopt;
  ir::Model& m = made.model;
  m.ir_version = o.ir_version.value_or(onnx::ir_version_for_opset(o.opset));
  for (const auto& [domain, version] : o.custom_opsets)
    if (!m.opsets.contains(domain))
      d.report(
          {"OE0303", Severity::Warning, "",
           "--custom-opset " + domain + "=" + std::to_string(version) + ": no node has that domain",
           "", nullptr, 0});
  settle_parameters(m, loaded.inputs, o);
  if (o.to) {
    stages.begin("precision");
    made.precision = precision::reduce(m, *o.to, o.ort_target, d);
    optimize::cleanup(m, o.optimize);
    stages.made("precision", m);
  }
  stages.begin("name");
  if (o.write.external == onnx::WriteOptions::External::InPlace)
    optimize::keep_stored(m, [&](const Tensor& t) {
      return loaded.module.file->place_of(t.data(), t.nbytes()).has_value();
    });
  const std::vector<std::string> state_names = torch_io::state_names(loaded.module.module);
  apply_names(m, o, state_names,
              o.export_params ? without_parameters(loaded.inputs) : loaded.inputs.leaves.size(), d);
  optimize::name_other_dims(m);
  made.writing = write_options(m, o, state_names);
  // Not before: a strict run lists every warning.
  if (o.strict) d.warnings_are_errors();
  if (d.has_errors()) return std::nullopt;
  stages.made("name", m);
  if (o.modules_as_functions) {
    made.with_functions = ir::copy(m);
    functions::outline_modules(*made.with_functions, o.function_classes);
    stages.made("functions", *made.with_functions);
  }
  stages.begin("check");
  require_accepted(made.file(), o);
  return made;
}

void describe(OnnxModel& made, const LoadedModel& loaded, const Options& o, Outcome& out) {
  ir::Model& m = made.file();
  if (made.with_functions) out.functions = m.functions.size();
  out.precision = made.precision;
  out.opset = m.opset();
  out.ir_version = m.ir_version;
  out.nodes = node_count(m);
  if (o.draws_graph()) out.graph = outline_of(m);
  const auto count = [&](const ir::Graph& g) {
    for (const auto& n : g.nodes)
      ++out.operators[(n->domain.empty() ? "" : n->domain + "::") + n->op];
  };
  ir::for_each_graph(m.graph, count);
  for (ir::Function& f : m.functions) ir::for_each_graph(f.body, count);
  for (const ir::Value* v : m.graph.initializers) out.parameter_bytes += v->data->nbytes();
  const size_t shown =
      o.export_params ? made.model.graph.inputs.size() : without_parameters(loaded.inputs);
  for (const ir::Value* v : m.graph.inputs)
    if (out.inputs.size() < shown) out.inputs.push_back(input_port(*v, loaded, o));
  out.parameter_inputs = m.graph.inputs.size() - out.inputs.size();
  for (const ir::Value* v : m.graph.outputs) out.outputs.push_back(port_of(*v));
}

size_t node_count(ir::Model& m) {
  size_t count = 0;
  const auto add = [&](const ir::Graph& g) { count += g.nodes.size(); };
  ir::for_each_graph(m.graph, add);
  for (ir::Function& f : m.functions) ir::for_each_graph(f.body, add);
  return count;
}

}  // namespace oe
