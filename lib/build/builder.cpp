// Nodes with their types, nested graphs and constants.
#include "lib/build/builder.h"

#include <algorithm>
#include <array>

#include "lib/ir/traits.h"
#include "lib/onnx/schema.h"
#include "lib/support/half.h"

namespace oe::build {
namespace {

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

template <class E>
TensorPtr elements(DType t, std::vector<int64_t> dims, const std::vector<double>& v) {
  std::vector<E> data;
  data.reserve(v.size());
  for (double d : v) {
    if constexpr (std::is_integral_v<E>)
      data.push_back(static_cast<E>(static_cast<int64_t>(d)));  // unsigned -1 is all ones
    else
      data.push_back(static_cast<E>(d));
  }
  return Tensor::of<E>(t, std::move(dims), data);
}

TensorPtr numbers_of(DType t, std::vector<int64_t> dims, const std::vector<double>& v) {
  switch (t) {
    case DType::Float:
      return elements<float>(t, std::move(dims), v);
    case DType::Double:
      return elements<double>(t, std::move(dims), v);
    case DType::Int8:
      return elements<int8_t>(t, std::move(dims), v);
    case DType::Int16:
      return elements<int16_t>(t, std::move(dims), v);
    case DType::Int32:
      return elements<int32_t>(t, std::move(dims), v);
    case DType::Int64:
      return elements<int64_t>(t, std::move(dims), v);
    case DType::UInt8:
      return elements<uint8_t>(t, std::move(dims), v);
    case DType::UInt16:
      return elements<uint16_t>(t, std::move(dims), v);
    case DType::UInt32:
      return elements<uint32_t>(t, std::move(dims), v);
    case DType::UInt64:
      return elements<uint64_t>(t, std::move(dims), v);
    case DType::Bool: {
      std::vector<uint8_t> truth;
      for (double d : v) truth.push_back(d != 0);
      return Tensor::of<uint8_t>(t, std::move(dims), truth);
    }
    case DType::Float16:
    case DType::BFloat16: {
      std::vector<uint16_t> bits;
      for (double d : v)
        bits.push_back(t == DType::Float16 ? half_bits(static_cast<float>(d))
                                           : bfloat16_bits(static_cast<float>(d)));
      return Tensor::of<uint16_t>(t, std::move(dims), bits);
    }
    default:
      throw Unsupported("a number of type " + std::string(name(t)) + " cannot be written");
  }
}

// Exact where a double is not.
TensorPtr integer_of(DType t, int64_t v) {
  if (t == DType::Int64) return Tensor::of<int64_t>(t, {}, {v});
  if (t == DType::UInt64) return Tensor::of<uint64_t>(t, {}, {static_cast<uint64_t>(v)});
  return numbers_of(t, {}, {static_cast<double>(v)});
}

}  // namespace

Values Builder::at(const std::vector<ir::Value*>& v) {
  Values out;
  for (ir::Value* x : v) out.push_back(at(x));
  return out;
}

// --- nodes

ir::Node* Builder::append(std::string_view op, const Values& inputs,
                          std::vector<ir::Value*> outputs, ir::Attributes attributes) {
  out_->push_back(ir::make_node(model_, prefix_ + std::string(op), op,
                                {inputs.begin(), inputs.end()}, std::move(outputs),
                                std::move(attributes), origin_));
  return out_->back().get();
}

Values Builder::ops(std::string_view op, const Values& inputs, ir::Attributes attributes,
                    size_t outputs) {
  const onnx::Schema* schema = onnx::find_schema("", op, opset_);
  if (!schema)
    throw std::logic_error("ONNX has no operator '" + std::string(op) + "' at opset " +
                           std::to_string(opset_));
  ir::Node* n = append(op, inputs, {}, std::move(attributes));
  // Trailing optional inputs that are left out are not written.
  while (static_cast<int>(n->inputs.size()) > schema->min_inputs && !n->inputs.back())
    n->inputs.pop_back();
  for (size_t i = 0; i < outputs; ++i) {
    ir::Value* v = model_.new_value(n->name + "_output_" + std::to_string(i));
    v->producer = n;
    n->outputs.push_back(v);
    v->type = sequence_type(*n);
    if (v->type.kind == ir::Type::Kind::Unknown)
      v->type = ir::Type::tensor(onnx::output_dtype(*schema, *n, i));
  }
  if (outputs == 1 && n->input(0)) {
    const ir::DimRule dims = ir::traits_of(op).dims;
    if (dims == ir::DimRule::Same) n->outputs[0]->type.shape = n->input(0)->type.shape;
    if (dims == ir::DimRule::Broadcast) n->outputs[0]->type.shape = broadcast_shape(n->inputs);
  }
  return at(n->outputs);
}

T Builder::op(std::string_view op, const Values& inputs, ir::Attributes attributes, ir::Type type) {
  T v = ops(op, inputs, std::move(attributes), 1)[0];
  if (type.kind != ir::Type::Kind::Unknown) v->type = std::move(type);
  return v;
}

std::shared_ptr<ir::Graph> Builder::graph(std::string_view name,
                                          const std::vector<ir::Type>& inputs,
                                          const std::function<Values(const Values&)>& fill) {
  auto made = std::make_shared<ir::Graph>();
  made->name = model_.names.unique(name);
  for (const ir::Type& t : inputs)
    made->inputs.push_back(model_.new_value(prefix_ + std::string(name) + "_in", t));
  Nodes* outer = exchange_out(&made->nodes);
  for (T v : fill(at(made->inputs))) {
    // An output is made by one of the graph's own nodes, and is no other output.
    const bool own =
        v->producer && !v->data &&
        std::any_of(made->nodes.begin(), made->nodes.end(),
                    [&](const auto& n) { return n.get() == v->producer; }) &&
        std::find(made->outputs.begin(), made->outputs.end(), v.get()) == made->outputs.end();
    made->outputs.push_back(own ? v : op("Identity", {v}));
  }
  exchange_out(outer);
  return made;
}

Values Builder::loop(T trips, const Values& carried,
                     const std::function<Values(T, const Values&)>& body,
                     const std::function<T(const Values&)>& more) {
  if (carried.empty() && opset_ < 11) {  // Loop needs a state there
    Values all = loop(trips, {i64(0)}, [&](T i, const Values& state) {
      Values results = body(i, {});
      results.insert(results.begin(), state[0]);
      return results;
    });
    return {all.begin() + 1, all.end()};
  }
  const auto rank_only = [](const ir::Value* v, bool stacked) {
    if (v->type.kind != ir::Type::Kind::Tensor) return v->type;
    if (!v->type.shape) return ir::Type::tensor(v->type.dtype);
    return ir::Type::tensor(v->type.dtype, std::vector<Dim>(v->type.shape->size() + stacked));
  };
  std::vector<ir::Type> types = {ir::Type::tensor(DType::Int64, std::vector<Dim>{}),
                                 ir::Type::tensor(DType::Bool, std::vector<Dim>{})};
  // The rank is that of the initial value; the sizes may change from step to step.
  for (T v : carried) types.push_back(rank_only(v, false));
  const auto made = graph("loop_body", types, [&](const Values& in) {
    Values results = body(in[0], {in.begin() + 2, in.end()});
    const auto next = results.begin() + static_cast<int64_t>(carried.size());
    results.insert(results.begin(), more ? more({results.begin(), next}) : in[1]);
    return results;
  });
  Values inputs = {trips, more ? more(carried) : nullptr};
  inputs.insert(inputs.end(), carried.begin(), carried.end());
  Values out = ops("Loop", inputs, {{"body", made}}, made->outputs.size() - 1);
  for (size_t k = 0; k < out.size(); ++k)
    out[k]->type = rank_only(made->outputs[k + 1], k >= carried.size());
  return out;
}

Values Builder::scan(T x, int64_t axis, const Values& start,
                     const std::function<Values(const Values& state, T entry)>& step) {
  Dims sizes = sizes_of(x, x.rank());
  sizes.erase(sizes.begin() + axis);
  std::vector<Dim> dims = *x->type.shape;
  dims.erase(dims.begin() + axis);
  Values inputs;
  std::vector<ir::Type> types;
  for (T s : start) {
    inputs.push_back(expand(s, sizes));
    types.push_back(ir::Type::tensor(s.dtype(), dims));
  }
  inputs.push_back(x);
  types.push_back(ir::Type::tensor(x.dtype(), dims));
  const auto body = graph("scan", types, [&](const Values& in) {
    const Values next = step({in.begin(), in.end() - 1}, in.back());
    Values all = next;  // carried on, and collected
    all.insert(all.end(), next.begin(), next.end());
    return all;
  });
  const size_t n = start.size();
  Values out = ops("Scan", inputs,
                   {{"body", body},
                    {"num_scan_inputs", int64_t{1}},
                    {"scan_input_axes", Ints{axis}},
                    {"scan_output_axes", Ints(n, axis)}},
                   2 * n);
  for (size_t i = 0; i < n; ++i) {  // the schema's variadic outputs have no common type
    out[i]->type = types[i];
    out[n + i]->type = ir::Type::tensor(types[i].dtype, x->type.shape);
  }
  return {out.begin() + static_cast<int64_t>(n), out.end()};
}

// --- constants

T Builder::tensor(TensorPtr t, std::string_view name) {
  constexpr size_t kShared = 256;  // bytes; larger tensors are shared by the optimizer
  if (t->dtype() == DType::String || t->nbytes() > kShared)
    return at(model_.new_initializer(name, std::move(t)));
  std::string key = std::to_string(static_cast<int>(t->dtype()));
  for (int64_t d : t->dims()) key += "," + std::to_string(d);
  key += ":";
  key.append(static_cast<const char*>(t->data()), t->nbytes());
  ir::Value*& made = constants_[key];
  if (!made) made = model_.new_initializer(name, std::move(t));
  return at(made);
}

T Builder::i64(int64_t v) { return tensor(integer_of(DType::Int64, v)); }
T Builder::i64s(const Ints& v) {
  return tensor(Tensor::of<int64_t>(DType::Int64, {static_cast<int64_t>(v.size())}, v));
}
T Builder::boolean(bool v) { return tensor(numbers_of(DType::Bool, {}, {v ? 1.0 : 0.0})); }
T Builder::number(double v, DType t) { return tensor(numbers_of(t, {}, {v})); }
T Builder::integer(int64_t v, DType t) { return tensor(integer_of(t, v)); }
T Builder::numbers(const std::vector<double>& v, std::vector<int64_t> dims, DType t) {
  return tensor(numbers_of(t, std::move(dims), v));
}
T Builder::filled(DType t, const Ints& shape, double v) {
  int64_t n = 1;
  for (int64_t i : shape) n *= i;
  return numbers(std::vector<double>(static_cast<size_t>(n), v), shape, t);
}
T Builder::filled(DType t, const Dims& shape, double v) {
  return shape.empty() ? number(v, t) : expand(number(v, t), shape);
}

TensorPtr content(const ir::Value* v) {
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

std::optional<Ints> ints(const ir::Value* v) {
  const TensorPtr t = content(v);
  if (!t || !(is_integer(t->dtype()) || t->dtype() == DType::Bool)) return std::nullopt;
  return t->as_int64();
}

std::optional<double> scalar(const ir::Value* v) {
  const TensorPtr t = content(v);
  if (!t || t->numel() != 1 || t->dtype() == DType::String || is_complex(t->dtype()))
    return std::nullopt;
  return t->as_double()[0];
}

}  // namespace oe::build
