// Which axes of the example inputs are dynamic, and their names.
#include "lib/torch/axes.h"

#include <ATen/core/Tensor.h>

#include <algorithm>
#include <map>
#include <set>

#include "lib/support/text.h"

namespace oe::torch_io {
namespace {

void axes_from_spec(const InputSpec& spec, InputLeaf& leaf) {
  if (!spec.shape || spec.shape->size() != leaf.axis_names.size()) return;
  for (size_t i = 0; i < spec.shape->size(); ++i) {
    const DimSpec& d = (*spec.shape)[i];
    if (!d.dynamic) continue;
    leaf.axis_names[i] = d.symbol.empty() ? automatic_axis_name(leaf.name, i) : d.symbol;
    if (d.low || d.high) leaf.bounds[i] = {d.low.value_or(0), d.high.value_or(INT64_MAX)};
  }
}

std::string shape_of(const InputLeaf& leaf) { return c10::str(leaf.value.toTensor().sizes()); }

// torch.onnx's own spelling of the axes in a list, so that models made by either have the same
// names: `index` counts from 1.
std::string listed_axis_name(const std::string& input, size_t index) {
  return input + "_dynamic_axes_" + std::to_string(index);
}

void axes_from_entry(const std::map<int64_t, std::string>& axes, InputLeaf& leaf,
                     bool every_input) {
  const auto rank = static_cast<int64_t>(leaf.axis_names.size());
  size_t listed = 0;
  for (const auto& [axis, name] : axes) {
    const int64_t at = axis < 0 ? axis + rank : axis;
    if (at < 0 || at >= rank) {
      if (every_input) continue;  // '*' means the inputs that have it
      usage_error("OE0212", "input '" + leaf.name + "' has no axis " + std::to_string(axis),
                  leaf.value.isTensor() ? "its shape is " + shape_of(leaf) : "it is a number");
    }
    leaf.axis_names[static_cast<size_t>(at)] =
        name.empty() ? listed_axis_name(leaf.name, ++listed) : name;
  }
}

void rename_leaves(const InputOptions& o, size_t first, ExampleInputs& e) {
  for (size_t i = first; i < std::min(o.names.size(), e.leaves.size()); ++i)
    e.leaves[i].name = o.names[i];
  std::set<std::string> seen;
  for (const InputLeaf& leaf : e.leaves)
    if (!seen.insert(leaf.name).second)
      usage_error("OE0213", "two inputs are named '" + leaf.name + "'");
}

void axes_from_option(const InputOptions& o, const std::vector<std::string>& own_names,
                      ExampleInputs& e) {
  for (const auto& [key, axes] : o.dynamic_axes.entries) {
    bool found = key == "*";
    for (size_t i = 0; i < e.leaves.size(); ++i)
      if (key == "*" || e.leaves[i].name == key || own_names[i] == key) {
        axes_from_entry(axes, e.leaves[i], key == "*");
        found = true;
      }
    if (!found && !key.empty() && key.size() < 5 &&
        key.find_first_not_of("0123456789") == std::string::npos &&
        std::stoul(key) < e.leaves.size()) {
      axes_from_entry(axes, e.leaves[std::stoul(key)], false);
      found = true;
    }
    if (!found) e.output_axes_unresolved.push_back(key);
  }
}

// A SPEC and --dynamic-axes that call one axis differently.
void refuse_two_names(const std::vector<InputSpec>& specs, const ExampleInputs& e) {
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    const InputLeaf& leaf = e.leaves[i];
    if (!specs[i].shape || specs[i].shape->size() != leaf.axis_names.size()) continue;
    for (size_t axis = 0; axis < leaf.axis_names.size(); ++axis) {
      const std::string& said = (*specs[i].shape)[axis].symbol;
      if (!said.empty() && said != leaf.axis_names[axis])
        usage_error("OE0216",
                    "axis " + std::to_string(axis) + " of input '" + leaf.name + "' is called '" +
                        said + "' by --input and '" + leaf.axis_names[axis] + "' by --dynamic-axes",
                    "use one name for it");
    }
  }
}

// Axis 0 of the first tensor, and of every other input that has the same number of rows.
void dynamic_batch(ExampleInputs& e) {
  int64_t rows = -1;
  for (InputLeaf& leaf : e.leaves) {
    if (!leaf.value.isTensor() || leaf.value.toTensor().dim() == 0) continue;
    if (rows < 0) rows = leaf.value.toTensor().size(0);
    if (leaf.value.toTensor().size(0) == rows && leaf.axis_names[0].empty())
      leaf.axis_names[0] = "batch";
  }
}

void refuse_two_sizes(const ExampleInputs& e) {
  std::map<std::string, std::pair<int64_t, std::string>> sizes;
  for (const InputLeaf& leaf : e.leaves)
    for (size_t i = 0; i < leaf.axis_names.size(); ++i) {
      if (leaf.axis_names[i].empty()) continue;
      const int64_t n = leaf.value.toTensor().size(static_cast<int64_t>(i));
      const auto [it, fresh] = sizes.try_emplace(leaf.axis_names[i], n, leaf.name);
      if (!fresh && it->second.first != n)
        usage_error("OE0214",
                    "axis '" + leaf.axis_names[i] + "' is " + std::to_string(it->second.first) +
                        " in input '" + it->second.second + "' and " + std::to_string(n) +
                        " in input '" + leaf.name + "'",
                    "axes with the same name must have the same size: use two names");
      const auto [low, high] = leaf.bounds[i];
      if (low <= high && (n < low || n > high))
        usage_error("OE0215", "axis '" + leaf.axis_names[i] + "' of input '" + leaf.name +
                                  "' is outside its bounds");
    }
}

}  // namespace

std::string automatic_axis_name(const std::string& input, size_t axis) {
  return input + "_axis" + std::to_string(axis);
}

void name_axes(const InputOptions& o, const std::vector<InputSpec>& specs, ExampleInputs& e) {
  std::vector<std::string> own_names;
  for (const InputLeaf& leaf : e.leaves) own_names.push_back(leaf.name);
  rename_leaves(o, 0, e);
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    InputLeaf& leaf = e.leaves[i];
    const size_t rank =
        leaf.value.isTensor() ? static_cast<size_t>(leaf.value.toTensor().dim()) : 0;
    leaf.axis_names.assign(rank, "");
    leaf.bounds.assign(rank, {0, -1});
    axes_from_spec(specs[i], leaf);
  }
  axes_from_option(o, own_names, e);
  refuse_two_names(specs, e);
  if (o.dynamic_batch) dynamic_batch(e);
  refuse_two_sizes(e);
}

void name_state_axes(size_t first, ExampleInputs& e) {
  const InputOptions& o = e.options;
  std::vector<std::string> own_names;
  for (const InputLeaf& leaf : e.leaves) own_names.push_back(leaf.name);
  rename_leaves(o, first, e);
  for (const auto& [key, axes] : o.dynamic_axes.entries)
    for (size_t i = first; i < e.leaves.size(); ++i) {
      if (key != e.leaves[i].name && key != own_names[i]) continue;
      axes_from_entry(axes, e.leaves[i], false);
      std::erase(e.output_axes_unresolved, key);
    }
  refuse_two_sizes(e);
}

}  // namespace oe::torch_io
