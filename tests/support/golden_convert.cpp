// A case's options, and the stages behind capture.
#include "tests/support/golden_convert.h"

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "lib/lower/lower.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "lib/optimize/optimize.h"
#include "lib/options/option_text.h"
#include "opsets/opsets.h"

namespace oe::golden {

void throw_problems(const std::string& stage, const std::vector<std::string>& problems) {
  if (!problems.empty()) throw std::runtime_error(stage + " is malformed: " + problems.front());
}

void throw_errors(const Diagnostics& d, int64_t opset) {
  for (const Diagnostic& x : d.all()) {
    if (x.severity == Severity::Error)
      throw Failure(ExitCode::Unsupported, x.code, render_text(d, static_cast<int>(opset)));
  }
}

Options options_of(const Case& c) {
  Options o;
  for (const std::string& spec : c.inputs) o.input.specs.push_back(parse_input_spec(spec));
  if (!c.dynamic.empty()) parse_dynamic_axes(c.dynamic, o.input.dynamic_axes);
  if (c.mode == "script") o.capture.mode = CaptureMode::Script;
  if (c.mode == "trace") o.capture.mode = CaptureMode::Trace;
  if (c.state == "outputs") o.capture.state = State::Outputs;
  if (c.state == "io") o.capture.state = State::InputsAndOutputs;
  return o;
}

std::string refusal_of(const std::exception& e) {
  const auto* f = dynamic_cast<const Failure*>(&e);
  return f && f->exit_code != ExitCode::Internal ? f->diagnostic_code : "";
}

namespace {

ir::Model optimized(const program::Program& p, const optimize::Options& o, Diagnostics& d) {
  ir::Model m = lower::lower(p, {}, d);
  if (d.has_errors()) return m;
  throw_problems("the graph after lower", ir::verify(m));
  optimize::optimize(m, o);
  optimize::name_output_dims(m);
  throw_problems("the graph after optimize", ir::verify(m));
  return m;
}

void clean_up(ir::Model& m, const optimize::Options& o, const Diagnostics& d, int64_t opset) {
  throw_errors(d, opset);
  optimize::finish(m, o);
  throw_problems("the graph after legalize", ir::verify(m));
}

Converted refused(const std::exception& e) { return {std::nullopt, e.what(), refusal_of(e), {}}; }

}  // namespace

std::map<int64_t, Converted> convert(const program::Program& p, const std::vector<int64_t>& opsets,
                                     const optimize::Options& o) {
  std::map<int64_t, Converted> results;
  Diagnostics lowered;
  std::optional<opsets::Descent> descent;
  try {
    descent.emplace(optimized(p, o, lowered), /*avoid_ort_gaps=*/true);
  } catch (const std::exception& e) {
    for (const int64_t opset : opsets) results[opset] = refused(e);
    return results;
  }
  std::vector<int64_t> down = opsets;
  std::ranges::sort(down, std::greater());
  for (const int64_t opset : down) {
    try {
      throw_errors(lowered, opset);
      Diagnostics d;
      ir::Model m = descent->at(opset, d);
      clean_up(m, o, d, opset);
      results[opset].model = std::move(m);
      for (const Diagnostic& x : d.all()) results[opset].warned.insert(x.code);
    } catch (const std::exception& e) {
      results[opset] = refused(e);
    }
  }
  return results;
}

std::string meaning(const ir::Model& m) {
  std::string versions = std::to_string(onnx::ir_version_for_opset(m.opset()));
  bool known = m.functions.empty();
  ir::for_each_graph(m.graph, [&](const ir::Graph& g) {
    for (const auto& n : g.nodes) {
      if (!n->domain.empty()) continue;
      const onnx::Schema* s = onnx::find_schema("", n->op, m.opset());
      // The body of a function has a version of its own.
      known = known && s && !s->has_function_body;
      if (s) versions += "," + std::to_string(s->since_version);
    }
  });
  if (!known) return {};
  ir::Model same = ir::copy(m);
  same.ir_version = onnx::ir_version_for_opset(onnx::newest_opset());
  same.opsets[""] = onnx::newest_opset();
  return versions + "\n" + onnx::write_bytes(same);
}

ir::Model convert_at(const program::Program& p, int64_t opset) {
  Diagnostics d;
  ir::Model m = optimized(p, {}, d);
  throw_errors(d, opset);
  opsets::legalize(m, opset, /*avoid_ort_gaps=*/true, d);
  clean_up(m, {}, d, opset);
  return m;
}

}  // namespace oe::golden
