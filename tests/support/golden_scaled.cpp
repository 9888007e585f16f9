// Counts a case's nodes at its own sizes and at four times these.
#include "tests/support/golden_scaled.h"

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include "lib/capture/attempts/sizes.h"
#include "lib/capture/capture.h"
#include "lib/lower/lower.h"
#include "lib/torch/inputs.h"
#include "tests/support/golden_convert.h"

namespace oe::golden {
namespace {

using torch_io::ExampleInputs;
using torch_io::InputLeaf;

constexpr int64_t kFactor = 4;
// Elements of all inputs together: what is larger costs more than it shows.
constexpr int64_t kMostElements = 1 << 20;

using Nodes = std::map<std::string, int64_t>;  // how many of each operator
using Counts = std::map<int64_t, Nodes>;       // by opset; those that are refused are absent

void count_nodes(const ir::Graph& g, Nodes& nodes) {
  for (const auto& node : g.nodes) {
    ++nodes[node->op];
    for (const auto& [name, a] : node->attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<ir::Graph>>(&a))
        count_nodes(**inner, nodes);
  }
}

int64_t total(const Nodes& nodes) {
  int64_t n = 0;
  for (const auto& [op, count] : nodes) n += count;
  return n;
}

// "12 nodes, then 14 (Gather +2)"
std::string difference(const Nodes& was, Nodes now) {
  std::string text = std::to_string(total(was)) + " nodes, then " + std::to_string(total(now));
  for (const auto& [op, count] : was) now[op] -= count;
  std::erase_if(now, [](const auto& e) { return e.second == 0; });
  std::string ops;
  for (const auto& [op, more] : now)
    ops += (ops.empty() ? "" : ", ") + op + (more > 0 ? " +" : " ") + std::to_string(more);
  return text + " (" + ops + ")";
}

Counts count(const Case& c, const torch_io::Loaded& module, ExampleInputs inputs,
             const std::vector<int64_t>& opsets) {
  Counts counts;
  Diagnostics d;
  const capture::Captured captured =
      capture::capture(module, inputs, options_of(c).capture, lower::has_row, d);
  for (const auto& [opset, r] : convert(captured.program, opsets))
    if (r.model) count_nodes(r.model->graph, counts[opset]);
  return counts;
}

// Which axes of a leaf grow.
using Choice = std::function<bool(const InputLeaf&, size_t axis)>;

// Not one input alone: LibTorch's recurrent layers read behind a state that is too short.
std::vector<Choice> choices() {
  const auto rank = [](const InputLeaf& l) { return l.axis_names.size(); };
  return {[](const InputLeaf&, size_t) { return true; },
          [](const InputLeaf&, size_t axis) { return axis == 0; },
          [=](const InputLeaf& l, size_t axis) { return axis + 1 == rank(l); },
          [](const InputLeaf& l, size_t axis) { return !l.axis_names[axis].empty(); },
          [](const InputLeaf&, size_t axis) { return axis >= 2; }};
}

// The inputs with these axes four times as long; nullopt when none is, or they are too large.
std::optional<ExampleInputs> scaled(const ExampleInputs& e, const Choice& grows) {
  capture::Shapes shapes;
  int64_t elements = 0;
  bool grown = false;
  for (const InputLeaf& l : e.leaves) {
    shapes.emplace_back();
    if (!l.value.isTensor()) continue;
    shapes.back() = l.value.toTensor().sizes().vec();
    int64_t own = 1;
    for (size_t i = 0; i < shapes.back().size(); ++i) {
      int64_t& size = shapes.back()[i];
      if (i < l.axis_names.size() && grows(l, i)) {
        grown = grown || size > 0;
        size *= kFactor;
      }
      own *= size;
    }
    elements += own;
  }
  if (!grown || elements > kMostElements) return std::nullopt;
  ExampleInputs out = e;
  out.arguments = torch_io::resized_inputs(e, shapes, e.options.seed);
  const std::vector<c10::IValue> values = torch_io::leaf_values(e, out.arguments);
  for (size_t i = 0; i < values.size(); ++i) out.leaves[i].value = values[i];
  return out;
}

bool libtorch_takes(const torch_io::Loaded& module, const ExampleInputs& e) {
  try {
    std::vector<c10::IValue> arguments;
    for (const c10::IValue& a : e.arguments) arguments.push_back(a.deepcopy());
    module.module.deepcopy().get_method(module.method)(std::move(arguments));
    return true;
  } catch (const std::exception&) {
    return false;
  }
}

std::string sizes_of(const ExampleInputs& e) {
  std::string text;
  for (const InputLeaf& l : e.leaves) {
    if (!l.value.isTensor()) continue;
    text += text.empty() ? "" : " ";
    std::string dims;
    for (const int64_t n : l.value.toTensor().sizes())
      dims += (dims.empty() ? "" : "x") + std::to_string(n);
    text += dims.empty() ? "scalar" : dims;
  }
  return text;
}

}  // namespace

Scaled run_scaled(const Case& c, const torch_io::Loaded& module,
                  const std::vector<int64_t>& opsets) {
  ExampleInputs inputs;
  Counts own;
  try {
    inputs = torch_io::make_inputs(options_of(c).input, module);
    for (InputLeaf& l : inputs.leaves)
      if (l.value.isTensor()) l.axis_names.resize(static_cast<size_t>(l.value.toTensor().dim()));
    own = count(c, module, inputs, opsets);
  } catch (const Failure&) {
  }
  if (own.empty()) return {Scaled::Kind::Refused, {}};
  bool any = false;
  const std::vector<Choice> all = choices();
  for (const Choice& choice : all) {
    const std::optional<ExampleInputs> larger = scaled(inputs, choice);
    if (!larger || !libtorch_takes(module, *larger)) continue;
    any = true;
    const Counts now = count(c, module, *larger, opsets);
    for (const auto& [opset, nodes] : own) {
      const auto at = now.find(opset);
      if (at != now.end() && total(at->second) == total(nodes)) continue;
      return {Scaled::Kind::Grows,
              "opset " + std::to_string(opset) + ", at " + sizes_of(*larger) + ": " +
                  (at == now.end() ? "refused" : difference(nodes, at->second))};
    }
    if (&choice == &all.front()) break;  // all axes at once: nothing is left to grow
  }
  return {any ? Scaled::Kind::Same : Scaled::Kind::Unscaled, {}};
}

}  // namespace oe::golden
