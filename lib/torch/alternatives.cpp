// Further examples of the same inputs: what they replace, and which axes differ.
#include "lib/torch/alternatives.h"

#include <ATen/core/Tensor.h>

#include <algorithm>

#include "lib/support/text.h"
#include "lib/torch/convert.h"
#include "lib/torch/input_tree.h"
#include "lib/torch/values.h"

namespace oe::torch_io {
namespace {

// boxes covers boxes and boxes.0
bool covers(const std::string& name, const std::string& path) {
  return path == name || path.starts_with(name + ".");
}

[[noreturn]] void other_form(const InputLeaf& leaf, const std::string& what) {
  usage_error("OE0207", "input '" + leaf.path + "': " + what,
              "use examples that differ only in sizes and values");
}

// The SPECs of a further example, each with the name of its place.
std::vector<InputSpec> named(std::vector<InputSpec> specs, const ExampleInputs& e) {
  const auto taken = [&](const InputLeaf& leaf) {
    return std::ranges::any_of(
        specs, [&](const InputSpec& s) { return !s.name.empty() && covers(s.name, leaf.path); });
  };
  std::vector<std::string> free;
  for (const InputLeaf& leaf : e.leaves)
    if (!taken(leaf)) free.push_back(leaf.path);
  // A file for each leaf: those of leaves that a name takes do not count (--inputs-from).
  const auto unnamed = static_cast<size_t>(
      std::ranges::count_if(specs, [](const InputSpec& s) { return s.name.empty(); }));
  if (unnamed == e.leaves.size() && free.size() < unnamed) {
    std::vector<InputSpec> rest;
    size_t leaf = 0;
    for (const InputSpec& s : specs)
      if (!s.name.empty() || !taken(e.leaves[leaf++])) rest.push_back(s);
    specs = std::move(rest);
  }
  size_t next = 0;
  for (InputSpec& s : specs) {
    if (!s.name.empty()) {
      const bool an_input = std::ranges::any_of(
          e.leaves, [&](const InputLeaf& leaf) { return covers(s.name, leaf.path); });
      const bool below = std::ranges::any_of(
          e.leaves, [&](const InputLeaf& leaf) { return covers(leaf.path, s.name); });
      std::vector<std::string> paths;
      for (const InputLeaf& leaf : e.leaves) paths.push_back(leaf.path);
      if (!an_input && !below) {
        const std::string hint = did_you_mean(s.name, paths);
        usage_error("OE0207", "a further example changes '" + s.name + "', which is not an input",
                    hint.empty() ? "the inputs are " + join(paths, ", ") : hint);
      }
    } else if (next < free.size()) {
      s.name = free[next++];
    } else {
      usage_error("OE0201", "the model has " + plural(e.leaves.size(), "input") +
                                "; a further example has more");
    }
    for (const DimSpec& d : s.shape.value_or(std::vector<DimSpec>()))
      if (d.dynamic)
        usage_error("OE0207",
                    "input '" + s.name + "': the sizes of a further example must be numbers",
                    "specify names and bounds of axes in --input");
    for (const InputLeaf& leaf : e.leaves)
      if (leaf.path == s.name && s.shape && s.dtype == DType::Undefined && s.value.empty() &&
          leaf.value.isTensor())
        s.dtype = to_dtype(leaf.value.toTensor().scalar_type());
  }
  return specs;
}

void compare_leaf(InputLeaf& leaf, const InputLeaf& other) {
  if (!leaf.value.isTensor() || !other.value.isTensor()) {
    if (leaf.value.tagKind() != other.value.tagKind())
      other_form(leaf, "is of type " + leaf.value.type()->repr_str() + " in one example and " +
                           other.value.type()->repr_str() + " in another");
    return;
  }
  const at::Tensor &a = leaf.value.toTensor(), &b = other.value.toTensor();
  if (a.scalar_type() != b.scalar_type())
    other_form(leaf, "has element type " + std::string(name(to_dtype(a.scalar_type()))) +
                         " in one example and " + std::string(name(to_dtype(b.scalar_type()))) +
                         " in another");
  if (a.dim() != b.dim())
    other_form(leaf, "has rank " + std::to_string(a.dim()) + " in one example and " +
                         std::to_string(b.dim()) + " in another");
  leaf.differs.resize(static_cast<size_t>(a.dim()));
  for (int64_t i = 0; i < a.dim(); ++i)
    if (a.size(i) != b.size(i)) leaf.differs[static_cast<size_t>(i)] = true;
}

std::vector<std::string> paths_of(const ExampleInputs& e) {
  std::vector<std::string> paths;
  for (const InputLeaf& leaf : e.leaves) paths.push_back(leaf.path);
  return paths;
}

}  // namespace

void add_alternatives(const InputOptions& o, const Loaded& m, ExampleFiles& files,
                      const std::vector<InputSpec>& specs, ExampleInputs& e) {
  for (const std::vector<InputSpec>& given : o.alternatives) {
    const std::vector<InputSpec> further = named(given, e);
    InputOptions other = o;
    other.specs = specs;
    std::erase_if(other.specs, [&](const InputSpec& s) {
      return std::ranges::any_of(further,
                                 [&](const InputSpec& f) { return covers(f.name, s.name); });
    });
    other.specs.insert(other.specs.end(), further.begin(), further.end());
    const ExampleInputs built = build_arguments(other, m, files).inputs;
    if (paths_of(built) != paths_of(e))
      usage_error("OE0207",
                  "the examples have different structures: one has the inputs " +
                      join(paths_of(e), ", ") + ", another " + join(paths_of(built), ", "),
                  "use examples that differ only in sizes and values");
    std::vector<std::vector<int64_t>> sizes;
    for (size_t i = 0; i < e.leaves.size(); ++i) {
      compare_leaf(e.leaves[i], built.leaves[i]);
      sizes.push_back(built.leaves[i].value.isTensor()
                          ? built.leaves[i].value.toTensor().sizes().vec()
                          : std::vector<int64_t>());
    }
    // Where only a shape is given the numbers are like the example's.
    std::vector<c10::IValue> values = leaf_values(e, resized_inputs(e, sizes, e.options.seed));
    for (size_t i = 0; i < values.size(); ++i)
      for (const InputSpec& f : further)
        if (covers(f.name, e.leaves[i].path) && !f.value.empty())
          values[i] =
              represented_number(built.leaves[i].value, e.leaves[i].number_type, e.leaves[i].path);
    e.alternatives.push_back(std::move(values));
  }
}

}  // namespace oe::torch_io
