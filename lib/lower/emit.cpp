// Emit: nodes, shared constants, casts and computed integers.
#include "lib/lower/emit.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "lib/lower/state.h"
#include "lib/onnx/schema.h"

namespace oe::lower {
namespace {

// Round to nearest, ties to even, as c10::Half does.
uint16_t to_half(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  const auto sign = static_cast<uint16_t>((bits >> 16) & 0x8000);
  const float a = std::fabs(f);
  if (std::isnan(f)) return sign | 0x7e00;
  if (a >= 65520.0f) return sign | 0x7c00;
  if (a < std::ldexp(1.0f, -14))  // subnormal: a multiple of 2^-24
    return sign | static_cast<uint16_t>(std::nearbyint(std::ldexp(a, 24)));
  int exponent;
  const float m = std::frexp(a, &exponent);  // a = m * 2^exponent, m in [0.5, 1)
  const auto mantissa = static_cast<uint32_t>(std::nearbyint(std::ldexp(m, 11)));  // 1024..2048
  return sign | static_cast<uint16_t>(((exponent + 14) << 10) + (mantissa - 1024));
}

uint16_t to_bfloat16(float f) {
  const auto bits = std::bit_cast<uint32_t>(f);
  if (std::isnan(f)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

template <class To, class From>
TensorPtr element(DType t, From v) {
  return Tensor::of<To>(t, {}, {static_cast<To>(v)});
}

// A 0-d tensor of type t; From is int64_t or double.
template <class From>
TensorPtr scalar_tensor(From v, DType t) {
  switch (t) {
    case DType::Float:
      return element<float>(t, v);
    case DType::Double:
      return element<double>(t, v);
    case DType::Float16:
      return element<uint16_t>(t, to_half(static_cast<float>(v)));
    case DType::BFloat16:
      return element<uint16_t>(t, to_bfloat16(static_cast<float>(v)));
    case DType::Bool:
      return element<uint8_t>(t, v != 0);
    case DType::Int64:
      return element<int64_t>(t, v);
    case DType::UInt64:
      return element<uint64_t>(t, static_cast<int64_t>(v));
    case DType::Int8:
      return element<int8_t>(t, static_cast<int64_t>(v));
    case DType::Int16:
      return element<int16_t>(t, static_cast<int64_t>(v));
    case DType::Int32:
      return element<int32_t>(t, static_cast<int64_t>(v));
    case DType::UInt8:
      return element<uint8_t>(t, static_cast<int64_t>(v));
    case DType::UInt16:
      return element<uint16_t>(t, static_cast<int64_t>(v));
    case DType::UInt32:
      return element<uint32_t>(t, static_cast<int64_t>(v));
    default:
      throw Unsupported("a number of type " + std::string(name(t)) + " cannot be written");
  }
}

template <size_t N>
bool contains(const std::string_view (&list)[N], std::string_view op) {
  return std::find(std::begin(list), std::end(list), op) != std::end(list);
}

// Operators whose result has their first input's shape, and those that broadcast: rows may ask for
// the rank and the dims of such intermediate values.
constexpr std::string_view kKeepShape[] = {
    "Abs",      "BitwiseNot", "Cast",        "Ceil",     "Clip",    "Cos",        "CumSum",
    "Elu",      "Erf",        "Exp",         "Floor",    "Gelu",    "IsInf",      "IsNaN",
    "Identity", "Log",        "LogSoftmax",  "Neg",      "Not",     "Reciprocal", "Relu",
    "Round",    "Sigmoid",    "Sign",        "Sin",      "Softmax", "Softplus",   "Sqrt",
    "Tanh",     "Atan",       "HardSigmoid", "LeakyRelu"};
constexpr std::string_view kBroadcast[] = {"Add",       "And",         "BitwiseAnd",
                                           "BitwiseOr", "BitwiseXor",  "Div",
                                           "Equal",     "Greater",     "GreaterOrEqual",
                                           "Less",      "LessOrEqual", "Max",
                                           "Min",       "Mod",         "Mul",
                                           "Or",        "Pow",         "Sub",
                                           "Where",     "Xor"};

Dim broadcast(const Dim& a, const Dim& b) {
  if (a == b || b == Dim::of(1)) return a;
  if (a == Dim::of(1)) return b;
  if (a.is_number()) return a;  // the other is either the same or 1
  return b.is_number() ? b : Dim::unknown();
}

Shape broadcast(const Values& inputs) {
  std::vector<Dim> out;
  for (const ir::Value* v : inputs) {
    if (!v || !v->type.shape) return std::nullopt;
    const std::vector<Dim>& in = *v->type.shape;
    if (in.size() > out.size()) out.insert(out.begin(), in.size() - out.size(), Dim::of(1));
    const size_t shift = out.size() - in.size();
    for (size_t i = 0; i < in.size(); ++i) out[shift + i] = broadcast(out[shift + i], in[i]);
  }
  return out;
}

// The types of sequence operators, which element types alone do not tell.
ir::Type sequence_type(const ir::Node& n) {
  const ir::Value* first = n.input(0);
  if (n.op == "SequenceEmpty")
    return ir::Type::sequence(
        ir::Type::tensor(static_cast<DType>(n.attributes.get_or<int64_t>("dtype", 1))));
  if (n.op == "SequenceConstruct" || n.op == "SplitToSequence")
    return ir::Type::sequence(ir::Type::tensor(first->type.dtype));
  if (n.op == "SequenceInsert" || n.op == "SequenceErase") return first->type;
  if ((n.op == "SequenceAt" || n.op == "ConcatFromSequence") && first->type.element)
    return ir::Type::tensor(first->type.element->dtype);
  return {};
}

}  // namespace

DType from_scalar_type(int64_t scalar_type) {
  // c10/core/ScalarType.h; the numbers are part of the serialized format.
  switch (scalar_type) {
    case 0:
      return DType::UInt8;
    case 1:
      return DType::Int8;
    case 2:
      return DType::Int16;
    case 3:
      return DType::Int32;
    case 4:
      return DType::Int64;
    case 5:
      return DType::Float16;
    case 6:
      return DType::Float;
    case 7:
      return DType::Double;
    case 9:
      return DType::Complex64;
    case 10:
      return DType::Complex128;
    case 11:
      return DType::Bool;
    case 15:
      return DType::BFloat16;
    case 23:
      return DType::Float8E5M2;
    case 24:
      return DType::Float8E4M3FN;
    case 25:
      return DType::Float8E5M2FNUZ;
    case 26:
      return DType::Float8E4M3FNUZ;
    case 27:
      return DType::UInt16;
    case 28:
      return DType::UInt32;
    case 29:
      return DType::UInt64;
    default:
      throw Unsupported("ONNX has no element type for ScalarType " + std::to_string(scalar_type));
  }
}

Value Emit::State::lookup(const program::Value* v) {
  if (auto it = values.find(v); it != values.end()) return it->second;
  if (!v->constant)
    throw std::logic_error("value %" + std::to_string(v->id) + " is used before it is computed");
  Value made = model.new_initializer(v->name.empty() ? "const" : v->name, v->constant);
  // Constants of the code are named after the place they stand in.
  made->state = !v->name.empty() && !v->name.ends_with("constant") && v->name != "argument";
  values.emplace(v, made);
  return made;
}

ir::Node* Emit::State::append(std::string_view op, Values inputs, Values outputs,
                              ir::Attributes attributes) {
  auto n = ir::make_node(model, prefix + std::string(op), op, std::move(inputs), std::move(outputs),
                         std::move(attributes), call ? call->origin : nullptr);
  graphs.back()->nodes.push_back(std::move(n));
  return graphs.back()->nodes.back().get();
}

Values Emit::nodes(std::string_view op, const Values& inputs, ir::Attributes attributes,
                   size_t outputs) {
  const onnx::Schema* schema = onnx::find_schema("", op, onnx::newest_opset());
  if (!schema) throw std::logic_error("ONNX has no operator '" + std::string(op) + "'");
  ir::Node* n = s_.append(op, inputs, {}, std::move(attributes));
  // Trailing optional inputs that are left out are not written.
  while (!n->inputs.empty() && !n->inputs.back()) n->inputs.pop_back();
  for (size_t i = 0; i < outputs; ++i) {
    Value v = s_.model.new_value(n->name + "_output_" + std::to_string(i));
    v->producer = n;
    n->outputs.push_back(v);
    v->type = sequence_type(*n);
    if (v->type.kind == ir::Type::Kind::Unknown)
      v->type = ir::Type::tensor(onnx::output_dtype(*schema, *n, i));
  }
  if (outputs == 1 && n->input(0)) {
    if (contains(kKeepShape, op)) n->outputs[0]->type.shape = n->input(0)->type.shape;
    if (contains(kBroadcast, op)) n->outputs[0]->type.shape = broadcast(n->inputs);
  }
  return n->outputs;
}

Value Emit::node(std::string_view op, const Values& inputs, ir::Attributes attributes) {
  return nodes(op, inputs, std::move(attributes), 1)[0];
}

Value Emit::tensor(TensorPtr t, std::string_view name) {
  constexpr size_t kShared = 256;  // bytes; larger tensors are shared by the optimizer
  if (t->dtype() == DType::String || t->nbytes() > kShared)
    return s_.model.new_initializer(name, std::move(t));
  std::string key = std::to_string(static_cast<int>(t->dtype()));
  for (int64_t d : t->dims()) key += "," + std::to_string(d);
  key += ":";
  key.append(static_cast<const char*>(t->data()), t->nbytes());
  Value& made = s_.constants[key];
  if (!made) made = s_.model.new_initializer(name, std::move(t));
  return made;
}

Value Emit::i64(int64_t v) { return tensor(scalar_tensor(v, DType::Int64)); }
Value Emit::i64s(const Ints& v) {
  return tensor(Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(v.size())}, v));
}
Value Emit::boolean(bool v) { return tensor(scalar_tensor(int64_t{v}, DType::Bool)); }
Value Emit::number(double v, DType t) { return tensor(scalar_tensor(v, t)); }
Value Emit::integer(int64_t v, DType t) { return tensor(scalar_tensor(v, t)); }

int64_t Emit::rank(Value v) const {
  if (!v->type.shape) throw Unsupported("needs an input whose rank is known at export");
  return static_cast<int64_t>(v->type.shape->size());
}

int64_t Emit::axis(Value v, int64_t dim) const {
  const int64_t n = std::max<int64_t>(rank(v), 1);
  if (dim < -n || dim >= n)
    throw std::logic_error("axis " + std::to_string(dim) + " of a tensor of rank " +
                           std::to_string(n));
  return dim < 0 ? dim + n : dim;
}

std::optional<int64_t> Emit::dim(Value v, int64_t a) const {
  if (!v->type.shape) return std::nullopt;
  a = axis(v, a);
  if (v->type.shape->empty()) return 1;
  const Dim& d = (*v->type.shape)[a];
  if (!d.is_number()) return std::nullopt;
  return d.number;
}

Value Emit::size(Value v, int64_t a) {
  if (auto known = dim(v, a)) return i64(*known);
  if (v->type.shape) a = axis(v, a);
  return node("Gather", {node("Shape", {v}), i64(a)}, {{"axis", int64_t{0}}});
}

Value Emit::shape(Value v) {
  if (v->type.shape) {
    Ints dims;
    for (const Dim& d : *v->type.shape)
      if (d.is_number()) dims.push_back(d.number);
    if (dims.size() == v->type.shape->size()) return i64s(dims);
  }
  Value out = node("Shape", {v});
  if (v->type.shape)
    out->type.shape = std::vector{Dim::of(static_cast<int64_t>(v->type.shape->size()))};
  return out;
}

Value Emit::cast(Value v, DType t) {
  if (v->type.dtype == t) return v;
  if (is_complex(t) || is_complex(v->type.dtype))
    throw Unsupported("complex numbers have no operators in ONNX");
  return node("Cast", {v}, {{"to", static_cast<int64_t>(t)}});
}

Value Emit::scalar(const Scalar& s, DType t) {
  if (!s.known) return cast(s.computed, t);
  return s.kind == Scalar::Kind::Float ? number(s.d, t) : integer(s.i, t);
}

DType Emit::result_dtype(size_t output) const { return call().outputs.at(output)->type.dtype; }
const Shape& Emit::result_shape(size_t output) const {
  return call().outputs.at(output)->type.shape;
}

Value Emit::to_value(const Int& i) { return i.known ? i64(*i.known) : i.computed; }

Value Emit::to_vector(const Dims& d) {
  Values pieces;
  Ints run;  // neighbouring known entries make one constant
  for (const Int& i : d) {
    if (i.known) {
      run.push_back(*i.known);
      continue;
    }
    if (!run.empty()) pieces.push_back(i64s(run));
    run.clear();
    pieces.push_back(node("Unsqueeze", {i.computed, i64s({0})}));
  }
  if (!run.empty() || pieces.empty()) pieces.push_back(i64s(run));
  Value out = pieces.size() == 1 ? pieces[0] : node("Concat", pieces, {{"axis", int64_t{0}}});
  out->type.shape = std::vector{Dim::of(static_cast<int64_t>(d.size()))};
  return out;
}

bool Emit::all_known(const Dims& d) {
  return std::all_of(d.begin(), d.end(), [](const Int& i) { return i.known.has_value(); });
}

Ints Emit::known(const Dims& d, std::string_view argument) const {
  Ints out;
  for (const Int& i : d) {
    if (!i.known) {
      const ir::Node* producer = i.computed->producer;
      const bool named = producer && producer->origin;
      throw NotKnown(std::string(argument), named ? producer->origin->op : "the graph");
    }
    out.push_back(*i.known);
  }
  return out;
}

std::shared_ptr<ir::Graph> Emit::graph(std::string_view name, const std::vector<ir::Type>& inputs,
                                       const std::function<Values(const Values&)>& fill) {
  auto made = std::make_shared<ir::Graph>();
  made->name = name;
  for (const ir::Type& t : inputs)
    made->inputs.push_back(s_.model.new_value(s_.prefix + std::string(name) + "_in", t));
  s_.graphs.push_back(made.get());
  // Every output has to be a value of its own that a node of the graph makes.
  for (Value v : fill(made->inputs)) made->outputs.push_back(node("Identity", {v}));
  s_.graphs.pop_back();
  return made;
}

ir::Model& Emit::model() { return s_.model; }
const program::Node& Emit::call() const { return *s_.call; }

}  // namespace oe::lower
