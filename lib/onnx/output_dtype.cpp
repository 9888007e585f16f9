// The element type of a node's output, from its schema's type variables and dtype attributes.
#include <algorithm>

#include "lib/onnx/schema.h"

namespace oe::onnx {
namespace {

// "tensor(float)" -> Float; anything that is no tensor -> Undefined.
DType concrete(std::string_view type) {
  constexpr std::string_view prefix = "tensor(";
  if (!type.starts_with(prefix) || !type.ends_with(')')) return DType::Undefined;
  type.remove_prefix(prefix.size());
  type.remove_suffix(1);
  return dtype_from_name(type);
}

const Formal* formal_at(const std::vector<Formal>& formals, size_t index) {
  if (index < formals.size()) return &formals[index];
  return !formals.empty() && formals.back().variadic ? &formals.back() : nullptr;
}

DType tensor_dtype(const ir::Value* v) {
  if (!v) return DType::Undefined;
  if (v->data) return v->data->dtype();
  return v->type.kind == ir::Type::Kind::Tensor ? v->type.dtype : DType::Undefined;
}

DType input_dtype(const ir::Node& n, size_t index) { return tensor_dtype(n.input(index)); }

DType from_inputs(const Schema& s, const ir::Node& n, const std::string& variable) {
  for (size_t i = 0; i < n.inputs.size(); ++i) {
    const Formal* f = formal_at(s.inputs, i);
    if (!f || f->heterogeneous || f->type != variable) continue;
    if (const DType d = tensor_dtype(n.inputs[i]); d != DType::Undefined) return d;
  }
  return DType::Undefined;
}

// Outputs of If, Loop and Scan are those of their bodies, behind what the body returns for itself.
DType from_body(const ir::Node& n, size_t index) {
  struct Body {
    std::string_view op, attribute;
    size_t skip;
  };
  for (const Body& b : {Body{"If", "then_branch", 0}, Body{"If", "else_branch", 0},
                        Body{"Loop", "body", 1}, Body{"Scan", "body", 0}}) {
    if (!n.is(b.op)) continue;
    const auto* g = n.attributes.get<std::shared_ptr<ir::Graph>>(b.attribute);
    if (!g || index + b.skip >= (*g)->outputs.size()) continue;
    if (DType d = tensor_dtype((*g)->outputs[index + b.skip]); d != DType::Undefined) return d;
  }
  return DType::Undefined;
}

// Operators whose output follows an attribute; 0 and absence mean the operator's own default.
DType from_attributes(const Schema& s, const ir::Node& n, size_t index) {
  if (n.is("Constant")) {
    if (const auto* t = n.attributes.get<TensorPtr>("value")) return (*t)->dtype();
    for (const auto& [name, type] : {std::pair{"value_int", DType::Int64},
                                     {"value_ints", DType::Int64},
                                     {"value_float", DType::Float},
                                     {"value_floats", DType::Float},
                                     {"value_string", DType::String},
                                     {"value_strings", DType::String}})
      if (n.attributes.find(name)) return type;
    return DType::Undefined;
  }
  if (n.is("ConstantOfShape")) {
    const auto* t = n.attributes.get<TensorPtr>("value");
    return t ? (*t)->dtype() : DType::Float;
  }
  if (n.is("LayerNormalization") && index == 0) return DType::Undefined;
  for (const char* name : {"to", "dtype", "output_datatype", "output_dtype", "stash_type"}) {
    const SchemaAttribute* a = s.attribute(name);
    if (!a) continue;
    if (const auto* v = n.attributes.get<int64_t>(name); v && *v != 0)
      return static_cast<DType>(*v);
    if (a->has_default)
      if (const auto* v = std::get_if<int64_t>(&a->default_value); v && *v != 0)
        return static_cast<DType>(*v);
  }
  return DType::Undefined;
}

// What is left where neither inputs nor attributes bind the variable.
DType fallback(const ir::Node& n) {
  for (const char* op : {"RandomNormalLike", "RandomUniformLike", "EyeLike", "Bernoulli"})
    if (n.is(op)) return input_dtype(n, 0);
  if (n.is("QuantizeLinear")) return DType::UInt8;
  if (n.is("DequantizeLinear")) return input_dtype(n, 1);
  for (const char* op : {"SequenceAt", "ConcatFromSequence", "OptionalGetElement"})
    if (n.is(op) && n.input(0) && n.input(0)->type.element) return n.input(0)->type.element->dtype;
  return DType::Undefined;
}

}  // namespace

DType output_dtype(const Schema& s, const ir::Node& n, size_t index) {
  const Formal* f = formal_at(s.outputs, index);
  if (!f) return DType::Undefined;
  if (const DType d = concrete(f->type); d != DType::Undefined) return d;
  if (f->heterogeneous) return from_body(n, index);
  const auto constraint = s.constraints.find(f->type);
  if (constraint == s.constraints.end()) return DType::Undefined;  // seq(...), optional(...)
  if (constraint->second.size() == 1) return concrete(constraint->second.front());
  if (DType d = from_inputs(s, n, f->type); d != DType::Undefined) return d;
  if (DType d = from_attributes(s, n, index); d != DType::Undefined) return d;
  return fallback(n);
}

}  // namespace oe::onnx
