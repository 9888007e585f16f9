// State that is carried from call to call (--state): written attributes as outputs, and as inputs.
#include "lib/capture/ports/persistent_state.h"

#include <algorithm>

#include "lib/capture/ports/ports.h"
#include "lib/torch/axes.h"
#include "lib/torch/state.h"

namespace oe::capture {
namespace {

program::Type type_of(const program::Arg& a) {
  if (const program::Value* v = a.value()) return v->type;
  if (std::holds_alternative<int64_t>(a.v)) return program::Type::integer();
  return std::holds_alternative<double>(a.v) ? program::Type::floating() : program::Type::boolean();
}

[[noreturn]] void refuse(const std::string& attribute, const std::string& before,
                         const std::string& after, const OriginPtr& origin) {
  throw Failure(ExitCode::Unsupported, "OE2303",
                "--state=io: attribute '" + attribute + "' is " + before + " before the call and " +
                    after + " after it",
                "call the model once before saving it, so that the attribute has its final type; "
                "--state=outputs returns the new state without making it an input",
                origin);
}

// The outputs from `first` on, which are those of one attribute, beside its inputs.
void pair_ports(const Values::State& s, const torch_io::ExampleInputs& inputs, size_t first,
                Captured& out) {
  const auto& outputs = out.program.outputs;
  const auto owner = std::ranges::find(inputs.state, s.path, &torch_io::AttributeArgument::path);
  size_t paired = 0;
  for (size_t i = 0; i < inputs.leaves.size(); ++i) {
    const torch_io::InputLeaf& leaf = inputs.leaves[i];
    if (owner == inputs.state.end() || leaf.argument != owner->argument) continue;
    const auto at = std::find_if(
        outputs.begin() + static_cast<std::ptrdiff_t>(first), outputs.end(),
        [&](const program::Port& p) { return p.name == torch_io::kStateOut + leaf.attribute; });
    if (at == outputs.end()) refuse(leaf.attribute, "a value", "None or left out", s.origin);
    out.state.push_back({leaf.attribute, i, static_cast<size_t>(at - outputs.begin()), s.origin});
    ++paired;
  }
  if (first + paired != outputs.size())
    refuse(s.path, std::to_string(paired) + " values", std::to_string(outputs.size() - first),
           s.origin);
}

std::string text_of(const program::Type& t) {
  return t.kind == program::Type::Kind::Tensor ? "a tensor " + program::to_string(t)
                                               : "of type " + program::to_string(t);
}

// The name of an axis of this leaf that is `size` long and may be another one in the next call: the
// one it has after the call, where its size now is that axis's.
std::string axis_name(const torch_io::ExampleInputs& inputs, const torch_io::InputLeaf& leaf,
                      size_t axis, const Dim& after) {
  const int64_t size = leaf.value.toTensor().size(static_cast<int64_t>(axis));
  for (const torch_io::InputLeaf& other : inputs.leaves)
    for (size_t a = 0; a < other.axis_names.size(); ++a)
      if (after.is_symbol() && other.axis_names[a] == after.symbol &&
          other.value.toTensor().size(static_cast<int64_t>(a)) == size)
        return after.symbol;
  return torch_io::automatic_axis_name(leaf.name, axis);
}

}  // namespace

void add_state_outputs(Executor& ex, const torch_io::ExampleInputs& inputs,
                       const std::string& method, State state, Captured& out, Diagnostics& d) {
  for (const OriginPtr& line : ex.values.written_constants())
    d.report(
        {"OE2206", Severity::Warning, "",
         "the model writes into a constant of its code; LibTorch keeps the new value for the next "
         "call, each call of the ONNX file starts from the saved one",
         "the saved value is the one after tracing: create the tensor with torch.zeros or "
         "torch.full in forward, or register it as a buffer",
         line, 0});
  const std::vector<Values::State> written = ex.values.written_state(state == State::Discard);
  if (state == State::Outputs)
    for (const Values::State& s : written)
      out.program.results.state.push_back({s.path, add_outputs(ex, s.value, s.path, d)});
  if (state == State::InputsAndOutputs) {
    for (const Values::State& s : written) out.found.push_back({s.path, s.origin});
    if (!written.empty()) return;
    for (const Values::State& s : ex.values.persistent_state()) {
      const size_t first = out.program.outputs.size();
      if (s.value.is(K::None)) refuse(s.path, "a value", "None", s.origin);
      out.program.results.state.push_back(
          {s.path, add_persistent(ex, s.value, torch_io::kStateOut + s.path, d)});
      pair_ports(s, inputs, first, out);
    }
  }
  if (state != State::Discard || written.empty()) return;
  std::string names;
  for (const Values::State& s : written) names += (names.empty() ? "" : ", ") + s.path;
  d.report({"OE2202", Severity::Note, "",
            "the model writes its own state in " + method + " (" + names +
                "); each call of the ONNX file starts from the saved state",
            "--state=io makes it inputs and outputs, --state=outputs returns the new state",
            nullptr, 0});
}

bool widen_state(const torch_io::Loaded& m, const Captured& c, torch_io::ExampleInputs& inputs) {
  for (const FoundState& found : c.found) {
    try {
      torch_io::add_state(m.module, {found.path}, inputs);
    } catch (Failure& f) {
      if (!f.origin) f.origin = found.origin;
      throw;
    }
  }
  bool wider = !c.found.empty();
  for (const PersistentState& s : c.state) {
    torch_io::InputLeaf& leaf = inputs.leaves[s.input];
    const program::Type before = type_of(c.program.inputs[s.input].value);
    const program::Type after = type_of(c.program.outputs[s.output].value);
    const bool ranked = before.shape && after.shape && before.shape->size() == after.shape->size();
    if (before.kind != after.kind || before.dtype != after.dtype || !ranked)
      refuse(s.attribute, text_of(before), text_of(after), s.origin);
    for (size_t axis = 0; axis < before.shape->size(); ++axis) {
      const Dim &was = (*before.shape)[axis], &is = (*after.shape)[axis];
      if (!leaf.axis_names[axis].empty() || was == is) continue;
      leaf.axis_names[axis] = axis_name(inputs, leaf, axis, is);
      wider = true;
    }
  }
  return wider;
}

}  // namespace oe::capture
