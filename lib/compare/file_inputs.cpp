// The inputs of an ONNX file, whoever made it, and the arguments of the module's method.
#include "lib/compare/file_inputs.h"

#include <algorithm>
#include <map>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe {
namespace {

using torch_io::InputLeaf;

const ir::Value* input_named(const ir::Model& file, const std::string& name) {
  const auto at = std::ranges::find(file.graph.inputs, name, &ir::Value::name);
  return at == file.graph.inputs.end() || name.empty() ? nullptr : *at;
}

// Inputs that need a value, without those that are parameters of the module.
std::vector<const ir::Value*> own_inputs(const ir::Model& file,
                                         const std::vector<std::string>& state_names) {
  std::vector<const ir::Value*> own;
  for (const ir::Value* v : file.graph.inputs)
    if (!v->data && std::ranges::find(state_names, v->name) == state_names.end()) own.push_back(v);
  return own;
}

// PyTorch's exporter calls the inputs of a loaded file as the code does: "state.1".
const InputLeaf* leaf_called(const torch_io::ExampleInputs& e, const std::string& name) {
  for (const InputLeaf& l : e.leaves)
    if (l.name == name || l.path == name) return &l;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos ||
      name.find_first_not_of("0123456789", dot + 1) != std::string::npos)
    return nullptr;
  return leaf_called(e, name.substr(0, dot));
}

bool all_called_as_leaves(const std::vector<const ir::Value*>& own,
                          const torch_io::ExampleInputs& e) {
  return std::ranges::all_of(
      own, [&](const ir::Value* v) { return leaf_called(e, v->name) != nullptr; });
}

// The leaves that stand for `count` inputs in order; empty: it cannot be told.
std::vector<const InputLeaf*> in_order(const torch_io::ExampleInputs& e, size_t count) {
  for (const bool numbers : {true, false}) {
    std::vector<const InputLeaf*> leaves;
    for (const InputLeaf& l : e.leaves)
      if (l.role == torch_io::Role::Own && (numbers || l.value.isTensor())) leaves.push_back(&l);
    if (leaves.size() == count) return leaves;
  }
  return {};
}

std::vector<int64_t> sizes_of(const InputLeaf& leaf) {
  return leaf.value.isTensor() ? leaf.value.toTensor().sizes().vec() : std::vector<int64_t>();
}

}  // namespace

FileInputs match_inputs(const ir::Model& file, const torch_io::ExampleInputs& e,
                        const std::vector<std::string>& state_names) {
  const std::vector<const ir::Value*> own = own_inputs(file, state_names);
  FileInputs inputs;
  inputs.names.resize(e.leaves.size());
  const auto place = [&](const InputLeaf* l) { return static_cast<size_t>(l - e.leaves.data()); };
  for (const ir::Value* v : file.graph.inputs) {
    if (v->data || std::ranges::find(own, v) != own.end()) continue;
    inputs.parameters.push_back(v->name);
    if (const InputLeaf* l = leaf_called(e, v->name)) inputs.names[place(l)] = v->name;
  }
  if (all_called_as_leaves(own, e)) {
    for (const ir::Value* v : own) inputs.names[place(leaf_called(e, v->name))] = v->name;
    return inputs;
  }
  const std::vector<const InputLeaf*> leaves = in_order(e, own.size());
  if (leaves.empty() && !own.empty()) {
    std::vector<std::string> theirs, ours;
    for (const ir::Value* v : own) theirs.push_back(v->name);
    for (const InputLeaf& l : e.leaves) ours.push_back(l.name);
    throw Failure(ExitCode::Usage, "OE0240",
                  "verify: cannot match the inputs of FILE (" + join(theirs, ", ") +
                      ") to those of the method (" + (ours.empty() ? "none" : join(ours, ", ")) +
                      ")",
                  "list the names in FILE with --input-names, in the method's order");
  }
  for (size_t i = 0; i < leaves.size(); ++i) inputs.names[place(leaves[i])] = own[i]->name;
  return inputs;
}

bool takes(const ir::Model& file, const torch_io::ExampleInputs& e, const FileInputs& inputs) {
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    const ir::Value* v = input_named(file, inputs.names[i]);
    if (!v || !v->type.shape || !e.leaves[i].value.isTensor()) continue;
    const std::vector<int64_t> sizes = sizes_of(e.leaves[i]);
    if (sizes.size() != v->type.shape->size()) return false;
    for (size_t d = 0; d < sizes.size(); ++d)
      if ((*v->type.shape)[d].is_number() && (*v->type.shape)[d].number != sizes[d]) return false;
  }
  return true;
}

std::vector<InputSpec> specs_of_file(const ir::Model& file, const torch_io::ExampleInputs& e,
                                     const std::vector<std::string>& state_names,
                                     const std::vector<torch_io::Argument>& arguments) {
  const std::vector<const ir::Value*> own = own_inputs(file, state_names);
  const bool named = all_called_as_leaves(own, e);
  std::vector<InputSpec> specs;
  for (const ir::Value* v : own) {
    InputSpec& s = specs.emplace_back();
    if (named) s.name = leaf_called(e, v->name)->path;
    if (!v->type.shape) continue;
    if (const size_t i = specs.size() - 1;
        own.size() == arguments.size() && !arguments[i].number.empty()) {
      s.name = arguments[i].name;
      s.value = arguments[i].number;
      continue;
    }
    s.shape.emplace();
    for (const Dim& d : *v->type.shape) {
      DimSpec& dim = s.shape->emplace_back();
      if (d.is_number())
        dim.size = d.number;
      else
        dim.dynamic = true;
    }
  }
  return specs;
}

void open_axes(const ir::Model& file, const FileInputs& inputs,
               const std::vector<std::vector<infer::Freedom>>& freedom,
               torch_io::ExampleInputs& e) {
  std::map<std::string, std::string> called;  // a symbol, as the file calls its first axis
  for (size_t i = 0; i < e.leaves.size() && i < freedom.size(); ++i) {
    const ir::Value* v = input_named(file, inputs.names[i]);
    InputLeaf& leaf = e.leaves[i];
    if (!v || !v->type.shape || v->type.shape->size() != leaf.axis_names.size()) continue;
    for (size_t d = 0; d < leaf.axis_names.size(); ++d) {
      const Dim& dim = (*v->type.shape)[d];
      if (dim.is_number() || d >= freedom[i].size()) continue;
      const infer::Freedom& f = freedom[i][d];
      const std::string own = dim.is_symbol() ? dim.symbol : leaf.name + "_" + std::to_string(d);
      leaf.axis_names[d] = f.free ? called.emplace(f.symbol, own).first->second : own;
      if (f.most) leaf.bounds[d] = {1, f.most};
    }
  }
}

}  // namespace oe
