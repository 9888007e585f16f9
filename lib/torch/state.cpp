// A module's state as inputs and outputs of the export (--state=io): attributes by their state_dict
// names.
#include "lib/torch/state.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <stdexcept>

#include "lib/support/text.h"
#include "lib/torch/axes.h"
#include "lib/torch/copies.h"
#include "lib/torch/reference.h"

namespace oe::torch_io {
namespace {

// The element of a container, or the attribute of an object, that `name` says.
c10::IValue step(const c10::IValue& v, const std::string& name, const std::string& path) {
  int64_t index = -1;  // of an element, where the name is one
  std::from_chars(name.data(), name.data() + name.size(), index);
  if (v.isObject()) return v.toObject()->getAttr(name);
  if (v.isGenericDict()) {
    const auto dict = v.toGenericDict();
    const bool text = dict.keyType()->kind() == c10::TypeKind::StringType;
    return dict.at(text ? c10::IValue(name) : c10::IValue(index));
  }
  if (v.isTuple()) {
    // Outputs of --state=outputs have the names of fields.
    const auto type = v.type()->expect<c10::TupleType>();
    for (size_t i = 0; type->schema() && i < type->elements().size(); ++i)
      if (type->schema()->arguments()[i].name() == name) index = static_cast<int64_t>(i);
    return v.toTupleRef().elements().at(static_cast<size_t>(index));
  }
  if (v.isList()) return v.toListRef().at(static_cast<size_t>(index));
  throw std::runtime_error("output '" + path + "' is none of the model's results");
}

// A copy that shares no memory; tensors that ask for gradients go on asking.
c10::IValue own_copy(const c10::IValue& v) {
  if (!v.isTensor() || !v.toTensor().defined()) return deep_copy(v);
  const at::Tensor& t = v.toTensor();
  const at::Tensor copy = t.detach().clone();
  if (t.is_leaf() && t.requires_grad()) copy.set_requires_grad(true);
  return copy;
}

using Visit = std::function<void(const c10::IValue& leaf, const std::string& name)>;

// The tensors and numbers of `v` in the order of leaf_values(), named as add_persistent() names
// them.
void each_leaf(const c10::IValue& v, const std::string& name, const Visit& visit) {
  const auto refuse = [&](const std::string& what) {
    throw Failure(
        ExitCode::Unsupported, "OE2301",
        "--state=io: attribute '" + name + "' is " + what +
            " before the call, which cannot be an input",
        "set it to a tensor or number in __init__, or call the model once before saving it; "
        "--state=outputs returns the new state without making it an input");
  };
  if ((v.isTensor() && v.toTensor().defined()) || v.isInt() || v.isDouble() || v.isBool()) {
    visit(v, name);
  } else if (v.isTuple()) {
    const auto& elements = v.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i)
      each_leaf(elements[i], name + "." + std::to_string(i), visit);
  } else if (v.isList()) {
    if (v.toListRef().empty()) refuse("an empty list");
    for (size_t i = 0; i < v.toListRef().size(); ++i)
      each_leaf(v.toListRef()[i], name + "." + std::to_string(i), visit);
  } else if (v.isGenericDict()) {
    if (v.toGenericDict().empty()) refuse("an empty dict");
    for (const auto& entry : v.toGenericDict())
      each_leaf(
          entry.value(),
          name + "." + (entry.key().isString() ? entry.key().toStringRef() : c10::str(entry.key())),
          visit);
  } else {
    refuse(v.isNone() || v.isTensor() ? "None" : "a value of type " + v.type()->repr_str());
  }
}

// The example of a leaf; other ones are drawn around it.
InputLeaf attribute_leaf(Role role, const c10::IValue& v, const std::string& attribute) {
  InputLeaf leaf;
  leaf.role = role;
  leaf.attribute = attribute;
  leaf.name = kStateIn + attribute;
  leaf.value = v;
  if (!v.isTensor()) return leaf;
  const at::Tensor& t = v.toTensor();
  leaf.axis_names.assign(static_cast<size_t>(t.dim()), "");
  leaf.bounds.assign(static_cast<size_t>(t.dim()), {0, -1});
  // State that begins as zeros (or ones) does not stay so.
  leaf.normal = t.is_floating_point() && t.numel() > 0 && t.min().equal(t.max());
  return leaf;
}

}  // namespace

namespace {

void put(const torch::jit::Module& m, const std::string& path, const c10::IValue& value) {
  c10::IValue owner = m._ivalue();
  const size_t dot = path.rfind('.');
  if (dot != std::string::npos) owner = attribute_value(m, path.substr(0, dot));
  owner.toObject()->setAttr(path.substr(dot == std::string::npos ? 0 : dot + 1), value);
}

}  // namespace

c10::IValue attribute_value(const torch::jit::Module& m, const std::string& path) {
  c10::IValue v = m._ivalue();
  for (const std::string& name : split(path, '.')) v = step(v, name, path);
  return v;
}

void set_attribute(const torch::jit::Module& m, const std::string& path, const c10::IValue& value) {
  put(m, path, own_copy(value));
}

void add_state(const torch::jit::Module& m, const std::vector<std::string>& paths,
               ExampleInputs& e) {
  const size_t before = e.leaves.size();
  for (const std::string& path : paths) {
    const c10::IValue value = attribute_value(m, path);
    size_t place = 0;
    each_leaf(value, path, [&](const c10::IValue& v, const std::string& name) {
      e.leaves.push_back(attribute_leaf(Role::State, v, name));
      e.leaves.back().argument = e.arguments.size();
      e.leaves.back().place = place++;
    });
    e.state.push_back({path, e.arguments.size()});
    e.arguments.push_back(value);
  }
  name_state_axes(before, e);
}

void add_parameters(const torch::jit::Module& m, bool stay_inputs, ExampleInputs& e) {
  const std::vector<std::string>& names = e.options.names;
  std::vector<at::Tensor> known;
  for (const std::string& path : state_names(m)) {
    const at::Tensor t = attribute_value(m, path).toTensor();
    const auto same = std::find_if(known.begin(), known.end(), [&](const at::Tensor& other) {
      return t.is_alias_of(other) && t.data_ptr() == other.data_ptr() &&
             t.sizes() == other.sizes() && t.strides() == other.strides();
    });
    if (same != known.end()) {
      e.tied.emplace_back(path, static_cast<size_t>(same - known.begin()));
      continue;
    }
    known.push_back(t);
    InputLeaf leaf = attribute_leaf(Role::Parameter, t, path);
    const size_t at = e.leaves.size();
    leaf.name = stay_inputs && at < names.size() ? names[at] : path;
    leaf.normal = false;
    leaf.argument = e.arguments.size();
    if (std::ranges::any_of(e.leaves, [&](const InputLeaf& l) { return l.name == leaf.name; })) {
      if (stay_inputs)
        usage_error("OE0213", "two inputs are named '" + leaf.name + "'",
                    "name the inputs with --input-names");
      leaf.name += ".parameter";
    }
    e.leaves.push_back(std::move(leaf));
    e.state.push_back({path, e.arguments.size()});
    e.arguments.push_back(t);
  }
  if (stay_inputs && names.size() > e.leaves.size())
    throw Failure(ExitCode::Usage, "OE0222",
                  "--input-names: " + std::to_string(names.size()) + " names for " +
                      plural(e.leaves.size(), "input") + ", parameters and buffers among them");
}

std::vector<c10::IValue> own_arguments(const ExampleInputs& e,
                                       const std::vector<c10::IValue>& arguments) {
  return {arguments.begin(), arguments.begin() + static_cast<std::ptrdiff_t>(e.own_arguments())};
}

void set_state(const torch::jit::Module& m, const ExampleInputs& e,
               const std::vector<c10::IValue>& arguments) {
  for (const AttributeArgument& a : e.state) set_attribute(m, a.path, arguments.at(a.argument));
  for (const auto& [path, of] : e.tied) put(m, path, attribute_value(m, e.state[of].path));
}

}  // namespace oe::torch_io
