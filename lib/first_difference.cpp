// After a verification failed: the first operator of the program whose result differs.
#include "lib/first_difference.h"

#include <algorithm>

#include "lib/capture/replay.h"
#include "lib/onnx/onnx.h"
#include "lib/support/origin_text.h"
#include "lib/to_onnx.h"
#include "lib/verify/compare.h"

namespace oe {
namespace {

std::string place(const program::Node& n) {
  const std::string where = place_of(n.origin);
  return where.empty() ? n.op : n.op + " at " + where;
}

// The program's model with the results of all nodes as outputs "step_0", "step_1", ...
std::string model_of_steps(program::Program& p, const std::vector<capture::Replayed>& steps,
                           const Options& o, const lower::UserRules& rules) {
  p.outputs.clear();
  for (const capture::Replayed& s : steps)
    p.outputs.push_back(
        {"step_" + std::to_string(p.outputs.size()), {const_cast<program::Value*>(s.value)}});
  Diagnostics d;
  const ir::Model m = to_onnx(p, o, rules, {}, d);
  if (d.has_errors() || onnx::needs_external(m, {})) return {};
  return onnx::write_bytes(m);
}

}  // namespace

std::string first_difference(program::Program& p, const std::vector<TensorPtr>& inputs,
                             const Options& o, const lower::UserRules& rules, verify::Ort& ort) {
  if (inputs.size() != p.inputs.size()) return {};
  const std::vector<capture::Replayed> steps = capture::replay(p, inputs);
  const std::string model = steps.empty() ? std::string() : model_of_steps(p, steps, o, rules);
  if (model.empty()) return {};
  try {
    const auto session = ort.open_bytes(model, o.threads);
    std::vector<verify::OrtValue> given;
    for (const std::string& name : session->input_names()) {
      const auto port = std::ranges::find(p.inputs, name, &program::Port::name);
      if (port == p.inputs.end()) return {};
      verify::OrtValue v;
      v.tensor = inputs[static_cast<size_t>(port - p.inputs.begin())];
      given.push_back(std::move(v));
    }
    const std::vector<verify::OrtValue> results = session->run(given);
    const std::vector<std::string> names = session->output_names();
    for (size_t i = 0; i < steps.size(); ++i) {
      const auto at = std::ranges::find(names, "step_" + std::to_string(i));
      if (at == names.end()) continue;
      const verify::OrtValue& v = results[static_cast<size_t>(at - names.begin())];
      if (!v.tensor) continue;
      const verify::Comparison c = verify::compare(*v.tensor, *steps[i].tensor);
      if (c.ok) continue;
      return place(*steps[i].node) + ": " + c.message;
    }
  } catch (const std::exception&) {
    // The model of the steps does not run either: nothing more is known.
  }
  return {};
}

}  // namespace oe
