// Node construction, constants and types for the rewrites.
#include "opsets/rewriter.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace oe::opsets {
namespace {

bool yields_bool(std::string_view op) {
  static const std::unordered_set<std::string_view> ops = {
      "Less", "Greater", "Equal", "Not", "And", "Or", "Xor", "IsNaN", "IsInf"};
  return ops.contains(op);
}
bool yields_int64(std::string_view op) {
  return op == "Shape" || op == "Size" || op == "NonZero" || op == "ArgMax" || op == "ArgMin";
}
// Result shape is the numpy broadcast of all inputs.
bool broadcasts(std::string_view op) {
  static const std::unordered_set<std::string_view> ops = {
      "Add", "Sub", "Mul",     "Div",  "Pow",   "Max",   "Min", "And",  "Or",
      "Xor", "Mod", "Greater", "Less", "Equal", "Where", "Sum", "Mean", "PRelu"};
  return ops.contains(op);
}
// Result has the shape of the first input.
bool elementwise(std::string_view op) {
  static const std::unordered_set<std::string_view> ops = {
      "Abs",      "Neg",   "Exp",        "Log",        "Sqrt",       "Floor",   "Ceil",
      "Not",      "Cast",  "Tanh",       "Relu",       "Erf",        "Sigmoid", "IsNaN",
      "Identity", "Clip",  "Softplus",   "Reciprocal", "Sign",       "Elu",     "Round",
      "Softmax",  "IsInf", "LogSoftmax", "Hardmax",    "HardSigmoid"};
  return ops.contains(op);
}

uint16_t half_bits(double v) {
  const auto f = static_cast<float>(v);
  const uint32_t b = std::bit_cast<uint32_t>(f);
  const uint32_t sign = (b >> 16) & 0x8000;
  if (std::isnan(f)) return static_cast<uint16_t>(sign | 0x7e00);
  const double a = std::fabs(v);
  if (a == 0) return static_cast<uint16_t>(sign);
  if (a >= 65520) return static_cast<uint16_t>(sign | 0x7c00);
  int e = 0;
  std::frexp(a, &e);
  const int scale = std::max(e - 11, -24);  // exponent of one unit in the last place
  auto m = static_cast<uint32_t>(std::nearbyint(std::ldexp(a, -scale)));
  if (scale == -24) return static_cast<uint16_t>(sign | m);  // subnormal, or the first normal
  if (m == 2048) {
    m = 1024;
    e += 1;
  }
  return static_cast<uint16_t>(sign | (static_cast<uint32_t>(e + 14) << 10) | (m & 1023));
}

uint16_t bfloat16_bits(double v) {
  const uint32_t b = std::bit_cast<uint32_t>(static_cast<float>(v));
  if (std::isnan(v)) return static_cast<uint16_t>((b >> 16) | 0x40);
  return static_cast<uint16_t>((b + 0x7fff + ((b >> 16) & 1)) >> 16);
}

template <class T>
TensorPtr filled(DType t, std::vector<int64_t> dims, const std::vector<double>& v) {
  std::vector<T> data;
  data.reserve(v.size());
  for (double d : v) data.push_back(static_cast<T>(d));
  return Tensor::of<T>(t, std::move(dims), data);
}

}  // namespace

Shape broadcast_shape(const Values& inputs) {
  std::vector<Dim> out;
  for (Value v : inputs) {
    if (!v->type.shape) return std::nullopt;
    const auto& dims = *v->type.shape;
    if (dims.size() > out.size()) out.insert(out.begin(), dims.size() - out.size(), Dim::of(1));
    for (size_t i = 0; i < dims.size(); ++i) {
      Dim& o = out[out.size() - dims.size() + i];
      const Dim& d = dims[i];
      if (d == o || d == Dim::of(1)) continue;
      if (o == Dim::of(1) || (d.is_number() && d.number > 1))
        o = d;
      else if (!(o.is_number() && o.number > 1))
        o = Dim::unknown();
    }
  }
  return out;
}

void Context::note(const ir::Node& n) {
  if (n.domain.empty()) present.insert(n.op);
  for (const auto& [name, a] : n.attributes)
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a))
      for (const auto& inner : (*g)->nodes) note(*inner);
}

// --- nodes

Value Rewriter::fresh(std::string_view op) {
  const size_t slash = node_.name.rfind('/');
  std::string name = slash == std::string::npos ? "" : node_.name.substr(0, slash + 1);
  return context_.model.new_value(name + std::string(op) + "_output");
}

Values Rewriter::ops(std::string_view op, Values inputs, ir::Attributes attributes,
                     size_t outputs) {
  Values out;
  for (size_t i = 0; i < outputs; ++i) out.push_back(fresh(op));
  const size_t slash = node_.name.rfind('/');
  std::string name = slash == std::string::npos ? "" : node_.name.substr(0, slash + 1);
  name += op;
  out_->push_back(ir::make_node(context_.model, name, op, std::move(inputs), out,
                                std::move(attributes), node_.origin));
  context_.present.emplace(op);
  return out;
}

Value Rewriter::op(std::string_view op, Values inputs, ir::Attributes attributes, ir::Type type) {
  if (type.kind == ir::Type::Kind::Unknown && !inputs.empty() && inputs[0]) {
    const size_t typed = op == "Where" ? 1 : 0;
    type = ir::Type::tensor(inputs[typed]->type.dtype);
    if (yields_bool(op)) type.dtype = DType::Bool;
    if (yields_int64(op)) type.dtype = DType::Int64;
    if (const auto* to = op == "Cast" ? attributes.get<int64_t>("to") : nullptr)
      type.dtype = static_cast<DType>(*to);
    if (elementwise(op)) type.shape = inputs[0]->type.shape;
    if (broadcasts(op)) type.shape = broadcast_shape(inputs);
  }
  Value v = ops(op, std::move(inputs), std::move(attributes), 1)[0];
  v->type = std::move(type);
  return v;
}

void Rewriter::bind(Value out, Value v) {
  if (!out || out == v) return;
  if (out->type.kind == ir::Type::Kind::Unknown) out->type = v->type;
  ir::Node* producer = nullptr;
  for (size_t i = start_; i < out_->size(); ++i)
    if ((*out_)[i].get() == v->producer && v->producer != &node_) producer = v->producer;
  if (!producer ||
      std::find(node_.outputs.begin(), node_.outputs.end(), v) != node_.outputs.end()) {
    out_->push_back(
        ir::make_node(context_.model, node_.name, "Identity", {v}, {out}, {}, node_.origin));
    return;
  }
  std::replace(producer->outputs.begin(), producer->outputs.end(), v, out);
  out->producer = producer;
  // The discarded value may already feed other new nodes, also inside a new loop body.
  const auto replace = [&](ir::Node& n, const auto& self) -> void {
    std::replace(n.inputs.begin(), n.inputs.end(), v, out);
    for (auto& [name, a] : n.attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
        for (auto& inner : (*g)->nodes) self(*inner, self);
        std::replace((*g)->outputs.begin(), (*g)->outputs.end(), v, out);
      }
  };
  for (size_t i = start_; i < out_->size(); ++i) replace(*(*out_)[i], replace);
}

Value Rewriter::detach(size_t i) {
  Value out = node_.outputs.at(i);
  Value inner = fresh(node_.op);
  inner->type = out->type;
  inner->type.shape.reset();
  inner->producer = &node_;
  node_.outputs[i] = inner;
  return out;
}

void Rewriter::add(std::unique_ptr<ir::Node> n) {
  context_.note(*n);
  if (!n->origin) n->origin = node_.origin;
  out_->push_back(std::move(n));
}

void Rewriter::keep() {
  context_.present.emplace(node_.op);
  out_->push_back(std::move(owned_));
}

// --- constants

Value Rewriter::constant(TensorPtr t) {
  std::string key = std::to_string(static_cast<int>(t->dtype()));
  for (int64_t d : t->dims()) key += "," + std::to_string(d);
  key += ":";
  key.append(static_cast<const char*>(t->data()), t->nbytes());
  Value& v = context_.constants[key];
  if (!v) v = context_.model.new_initializer("const", std::move(t));
  return v;
}
Value Rewriter::i64(int64_t v) { return constant(Tensor::of<int64_t>(DType::Int64, {}, {v})); }
Value Rewriter::i64s(const Ints& v) {
  return constant(Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(v.size())}, v));
}
Value Rewriter::number(double v, DType t) { return numbers({v}, {}, t); }

Value Rewriter::numbers(const std::vector<double>& v, std::vector<int64_t> dims, DType t) {
  switch (t) {
    case DType::Float:
      return constant(filled<float>(t, std::move(dims), v));
    case DType::Double:
      return constant(filled<double>(t, std::move(dims), v));
    case DType::Int8:
      return constant(filled<int8_t>(t, std::move(dims), v));
    case DType::Int16:
      return constant(filled<int16_t>(t, std::move(dims), v));
    case DType::Int32:
      return constant(filled<int32_t>(t, std::move(dims), v));
    case DType::Int64:
      return constant(filled<int64_t>(t, std::move(dims), v));
    case DType::UInt8:
    case DType::Bool:
      return constant(filled<uint8_t>(t, std::move(dims), v));
    case DType::UInt16:
      return constant(filled<uint16_t>(t, std::move(dims), v));
    case DType::UInt32:
      return constant(filled<uint32_t>(t, std::move(dims), v));
    case DType::UInt64:
      return constant(filled<uint64_t>(t, std::move(dims), v));
    case DType::Float16:
    case DType::BFloat16: {
      std::vector<uint16_t> bits;
      for (double d : v) bits.push_back(t == DType::Float16 ? half_bits(d) : bfloat16_bits(d));
      return constant(Tensor::of<uint16_t>(t, std::move(dims), bits));
    }
    default:
      throw NotExpressible{"no constant of element type " + std::string(oe::name(t))};
  }
}

TensorPtr Rewriter::data(Value v) const {
  if (!v) return nullptr;
  if (v->data) return v->data;
  if (!v->producer || !v->producer->is("Constant")) return nullptr;
  const auto& attributes = v->producer->attributes;
  if (const auto* t = attributes.get<TensorPtr>("value")) return *t;
  if (const auto* i = attributes.get<int64_t>("value_int"))
    return Tensor::of<int64_t>(DType::Int64, {}, {*i});
  if (const auto* i = attributes.get<Ints>("value_ints"))
    return Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(i->size())}, *i);
  if (const auto* f = attributes.get<float>("value_float"))
    return Tensor::of<float>(DType::Float, {}, {*f});
  if (const auto* f = attributes.get<ir::Floats>("value_floats"))
    return Tensor::of<float>(DType::Float, {static_cast<int64_t>(f->size())}, *f);
  return nullptr;
}

std::optional<Ints> Rewriter::ints(Value v) const {
  const TensorPtr t = data(v);
  if (!t || !(is_integer(t->dtype()) || t->dtype() == DType::Bool)) return std::nullopt;
  return t->as_int64();
}

std::optional<double> Rewriter::scalar(Value v) const {
  const TensorPtr t = data(v);
  if (!t || t->numel() != 1 || t->dtype() == DType::String || is_complex(t->dtype()))
    return std::nullopt;
  return t->as_double()[0];
}

// --- types

int64_t Rewriter::rank(Value v) const {
  if (auto r = v->rank()) return *r;
  throw NotExpressible{"needs opset " + std::to_string(below_ + 1) +
                       " or later where the rank of '" + v->name + "' is not known"};
}

std::optional<int64_t> Rewriter::dim(Value v, int64_t axis) const {
  if (!v->type.shape) return std::nullopt;
  const auto& dims = *v->type.shape;
  if (axis < 0) axis += static_cast<int64_t>(dims.size());
  if (axis < 0 || axis >= static_cast<int64_t>(dims.size())) return std::nullopt;
  const Dim& d = dims[static_cast<size_t>(axis)];
  return d.is_number() ? std::optional(d.number) : std::nullopt;
}

int64_t Rewriter::wrap(int64_t axis, int64_t rank) const { return axis < 0 ? axis + rank : axis; }

ir::Type Rewriter::ranked(DType t, int64_t rank) {
  return ir::Type::tensor(t, std::vector<Dim>(static_cast<size_t>(rank)));
}
ir::Type Rewriter::like(Value v, DType t) { return ir::Type::tensor(t, v->type.shape); }

}  // namespace oe::opsets
