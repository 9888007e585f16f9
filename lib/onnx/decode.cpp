// Protobuf's classes to ir::Model: types, tensors, attributes, graphs.
#include <onnx/inliner/inliner.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "lib/onnx/proto.h"
#include "lib/onnx/registry.h"
#include "lib/support/safe_text.h"

namespace oe::onnx {
namespace {

[[noreturn]] void refuse(const std::string& what) { throw std::runtime_error(safe_line(what)); }

template <class To, class List>
TensorPtr converted(DType d, std::vector<int64_t> dims, const List& list) {
  std::vector<To> values(list.begin(), list.end());
  return Tensor::of<To>(d, std::move(dims), values);
}

// How many numbers stand in the typed field of the type.
int64_t field_count(const pb::TensorProto& t, DType d) {
  switch (d) {
    case DType::Float:
    case DType::Complex64:
      return t.float_data_size();
    case DType::Double:
    case DType::Complex128:
      return t.double_data_size();
    case DType::Int64:
      return t.int64_data_size();
    case DType::UInt32:
    case DType::UInt64:
      return t.uint64_data_size();
    default:
      return t.int32_data_size();
  }
}

// Typed fields; float16, bfloat16 and the 8-bit types are widened bit patterns in int32_data.
TensorPtr from_fields(const pb::TensorProto& t, DType d, std::vector<int64_t> dims) {
  switch (d) {
    case DType::Float:
      return converted<float>(d, std::move(dims), t.float_data());
    case DType::Double:
      return converted<double>(d, std::move(dims), t.double_data());
    case DType::Int64:
      return converted<int64_t>(d, std::move(dims), t.int64_data());
    case DType::Int32:
      return converted<int32_t>(d, std::move(dims), t.int32_data());
    case DType::Int16:
    case DType::UInt16:
    case DType::Float16:
    case DType::BFloat16:
      return converted<uint16_t>(d, std::move(dims), t.int32_data());
    case DType::UInt32:
      return converted<uint32_t>(d, std::move(dims), t.uint64_data());
    case DType::UInt64:
      return converted<uint64_t>(d, std::move(dims), t.uint64_data());
    case DType::Complex64:
      return Tensor::from_bytes(d, std::move(dims), t.float_data().data(),
                                t.float_data_size() * sizeof(float));
    case DType::Complex128:
      return Tensor::from_bytes(d, std::move(dims), t.double_data().data(),
                                t.double_data_size() * sizeof(double));
    default:
      return converted<uint8_t>(d, std::move(dims), t.int32_data());
  }
}

void collect_outputs(const pb::GraphProto& g, std::vector<const std::string*>& names) {
  for (const auto& n : g.node())
    for (const auto& o : n.output())
      if (!o.empty()) names.push_back(&o);
}

}  // namespace

TensorPtr tensor_from_proto(const pb::TensorProto& t, const std::shared_ptr<const void>& owner,
                            const ExternalReader& external) {
  const auto d = static_cast<DType>(t.data_type());
  std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
  int64_t count = 1;
  for (int64_t n : dims) {
    if (n < 0 || __builtin_mul_overflow(count, n, &count))
      refuse("tensor '" + t.name() + "' has impossible dims");
  }
  if (d == DType::String) {
    if (t.string_data_size() != count) refuse("tensor '" + t.name() + "' has too few strings");
    return std::make_shared<Tensor>(
        std::move(dims), std::vector<std::string>(t.string_data().begin(), t.string_data().end()));
  }
  if (byte_size(d) == 0)
    refuse("tensor '" + t.name() + "' has element type " + std::to_string(t.data_type()) +
           ", which is not supported");
  if (t.data_location() == pb::TensorProto::EXTERNAL) {
    if (!external)
      refuse("tensor '" + t.name() + "' has external data, but the model is not a file");
    return external(t);
  }
  const size_t size = static_cast<size_t>(count) * byte_size(d);
  if (t.has_raw_data()) {
    const std::string& raw = t.raw_data();
    if (raw.size() != size) refuse("tensor '" + t.name() + "' has raw data of the wrong size");
    if (!owner || reinterpret_cast<uintptr_t>(raw.data()) % byte_size(d) != 0)
      return Tensor::from_bytes(d, std::move(dims), raw.data(), size);
    return std::make_shared<Tensor>(d, std::move(dims), raw.data(), owner);
  }
  if (field_count(t, d) != (is_complex(d) ? 2 * count : count))
    refuse("tensor '" + t.name() + "' has data of the wrong size");
  return from_fields(t, d, std::move(dims));
}

namespace {

// The value of an attribute where another type of number is declared.
ir::Attribute of_type(const ir::Attribute& a, int type, const std::string& name) {
  const auto* i = std::get_if<int64_t>(&a);
  const auto* ints = std::get_if<ir::Ints>(&a);
  const auto* floats = std::get_if<ir::Floats>(&a);
  using P = pb::AttributeProto;
  if (i && type == P::FLOAT) return static_cast<float>(*i);
  if (i && type == P::INTS) return ir::Ints{*i};
  if (ints && type == P::FLOATS) return ir::Floats(ints->begin(), ints->end());
  if (const auto* f = std::get_if<float>(&a); f && type == P::FLOATS) return ir::Floats{*f};
  const bool empty = (ints && ints->empty()) || (floats && floats->empty());
  if (empty && type == P::INTS) return ir::Ints{};
  if (empty && type == P::FLOATS) return ir::Floats{};
  constexpr int kTypes[] = {P::INT,    P::FLOAT,   P::STRING, P::INTS,
                            P::FLOATS, P::STRINGS, P::TENSOR, P::GRAPH};
  if (a.index() >= std::size(kTypes) || kTypes[a.index()] != type)
    refuse("'" + name + "' is not an attribute of type " +
           P::AttributeType_Name(static_cast<P::AttributeType>(type)));
  return a;
}

}  // namespace

ir::Type from_proto(const pb::TypeProto& t) {
  switch (t.value_case()) {
    case pb::TypeProto::kTensorType: {
      const auto& tensor = t.tensor_type();
      ir::Type type = ir::Type::tensor(static_cast<DType>(tensor.elem_type()));
      if (!tensor.has_shape()) return type;
      type.shape.emplace();
      for (const auto& d : tensor.shape().dim())
        type.shape->push_back(d.has_dim_value() ? Dim::of(d.dim_value())
                              : d.has_dim_param() && !d.dim_param().empty()
                                  ? Dim::named(d.dim_param())
                                  : Dim::unknown());
      return type;
    }
    case pb::TypeProto::kSequenceType:
      return ir::Type::sequence(from_proto(t.sequence_type().elem_type()));
    case pb::TypeProto::kOptionalType:
      return ir::Type::optional(from_proto(t.optional_type().elem_type()));
    case pb::TypeProto::VALUE_NOT_SET:
      return {};
    default:
      refuse("a map or sparse tensor type is not supported");
  }
}

pb::TypeProto to_proto(const ir::Type& t) {
  pb::TypeProto p;
  switch (t.kind) {
    case ir::Type::Kind::Unknown:
      break;
    case ir::Type::Kind::Tensor: {
      auto* tensor = p.mutable_tensor_type();
      tensor->set_elem_type(static_cast<int>(t.dtype));
      if (!t.shape) break;
      auto* shape = tensor->mutable_shape();
      for (const Dim& d : *t.shape) {
        auto* dim = shape->add_dim();
        if (d.is_number()) dim->set_dim_value(d.number);
        if (d.is_symbol()) dim->set_dim_param(d.symbol);
      }
      break;
    }
    case ir::Type::Kind::Sequence:
      *p.mutable_sequence_type()->mutable_elem_type() = to_proto(*t.element);
      break;
    case ir::Type::Kind::Optional:
      *p.mutable_optional_type()->mutable_elem_type() = to_proto(*t.element);
      break;
  }
  return p;
}

ir::Attribute from_proto(const pb::AttributeProto& a, const std::shared_ptr<const void>& owner,
                         const ExternalReader& external) {
  switch (a.type()) {
    case pb::AttributeProto::FLOAT:
      return a.f();
    case pb::AttributeProto::INT:
      return int64_t{a.i()};
    case pb::AttributeProto::STRING:
      return a.s();
    case pb::AttributeProto::TENSOR:
      return tensor_from_proto(a.t(), owner, external);
    case pb::AttributeProto::FLOATS:
      return ir::Floats(a.floats().begin(), a.floats().end());
    case pb::AttributeProto::INTS:
      return ir::Ints(a.ints().begin(), a.ints().end());
    case pb::AttributeProto::STRINGS:
      return ir::Strings(a.strings().begin(), a.strings().end());
    case pb::AttributeProto::TYPE_PROTO:
      return from_proto(a.tp());
    default:
      refuse("attribute '" + a.name() + "' has a type that is not supported");
  }
}

ir::Value* NodeReader::Scope::find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->parent)
    if (auto it = s->values.find(name); it != s->values.end()) return it->second;
  return nullptr;
}

bool NodeReader::Scope::has(const std::string& name) const {
  for (const Scope* s = this; s; s = s->parent)
    if (s->values.contains(name)) return true;
  return false;
}

void NodeReader::declare(const pb::NodeProto& n, Scope& scope) {
  for (const std::string& o : n.output())
    if (!o.empty() && !scope.values.contains(o)) scope.values[o] = m_.new_value(prefix + o);
}

std::unique_ptr<ir::Node> NodeReader::node(const pb::NodeProto& n, Scope& scope) {
  std::vector<ir::Value*> inputs, outputs;
  for (const std::string& i : n.input()) {
    inputs.push_back(i.empty() ? nullptr : scope.find(i));
    // In a function body a missing optional input is a formal that maps to null.
    if (!i.empty() && !inputs.back() && !scope.has(i))
      refuse("node '" + n.name() + "' (" + n.op_type() + ") uses '" + i +
             "', which no earlier node produces");
  }
  for (const std::string& o : n.output())
    outputs.push_back(o.empty() ? nullptr : scope.values.at(o));
  const size_t least = n.domain().empty() && n.op_type() == "Loop" ? 2 : 0;
  while (inputs.size() > least && !inputs.back()) inputs.pop_back();

  ir::Attributes attributes;
  for (const auto& a : n.attribute()) {
    if (!a.ref_attr_name().empty()) {
      if (!lookup) {
        attributes.set(a.name(), ir::Reference{a.ref_attr_name(), a.type()});
      } else if (const ir::Attribute* given = lookup(a.ref_attr_name())) {
        attributes.set(a.name(), of_type(*given, a.type(), a.ref_attr_name()));
      }
    } else if (a.type() == pb::AttributeProto::GRAPH) {
      auto g = std::make_shared<ir::Graph>();
      Scope inner{&scope, {}};
      graph(a.g(), *g, inner);
      attributes.set(a.name(), std::move(g));
    } else {
      attributes.set(a.name(), from_proto(a, owner_, external_));
    }
  }
  auto made = ir::make_node(m_, prefix + (n.name().empty() ? n.op_type() : n.name()), n.op_type(),
                            std::move(inputs), std::move(outputs), std::move(attributes), origin);
  made->domain = n.domain() == "ai.onnx" ? "" : n.domain();
  return made;
}

void NodeReader::graph(const pb::GraphProto& g, ir::Graph& out, Scope& scope) {
  const bool main = &out == &m_.graph;
  out.name = g.name();
  // Every value before any node: names of values are the model's interface, names of nodes give
  // way.
  for (const auto& i : g.input()) {
    ir::Value* v = m_.new_value(prefix + i.name(), from_proto(i.type()));
    scope.values[i.name()] = v;
    out.inputs.push_back(v);
  }
  for (const auto& t : g.initializer()) {
    ir::Value*& v = scope.values[t.name()];
    const bool is_input = v != nullptr;
    if (is_input && !main) continue;  // a default that the loop always overrides
    TensorPtr data = tensor_from_proto(t, owner_, external_);
    if (is_input) {
      v->data = std::move(data);
      m_.graph.initializers.push_back(v);
    } else {
      v = m_.new_initializer(prefix + t.name(), std::move(data));
    }
  }
  std::vector<const std::string*> names;
  collect_outputs(g, names);
  for (const std::string* name : names)
    if (!scope.values.contains(*name)) scope.values[*name] = m_.new_value(prefix + *name);
  const auto set_type = [&](const pb::ValueInfoProto& info) {
    auto it = scope.values.find(info.name());
    if (it != scope.values.end() && it->second->type.kind == ir::Type::Kind::Unknown)
      it->second->type = from_proto(info.type());
  };
  for (const auto& info : g.output()) set_type(info);
  for (const auto& info : g.value_info()) set_type(info);

  for (const auto& n : g.node()) out.nodes.push_back(node(n, scope));
  for (const auto& o : g.output()) {
    ir::Value* v = scope.find(o.name());
    if (!v) refuse("graph output '" + o.name() + "' is not computed by any node");
    out.outputs.push_back(v);
  }
}

ir::Model from_proto(std::shared_ptr<pb::ModelProto> proto, const ExternalReader& external) {
  if (proto->functions_size() > 0) {
    registry();
    pb::inliner::InlineLocalFunctions(*proto);
  }
  if (proto->graph().sparse_initializer_size() > 0) refuse("sparse initializers are not supported");
  ir::Model m;
  m.ir_version = proto->ir_version();
  for (const auto& o : proto->opset_import())
    m.opsets[o.domain() == "ai.onnx" ? "" : o.domain()] = o.version();
  m.producer_name = proto->producer_name();
  m.producer_version = proto->producer_version();
  m.doc = proto->doc_string();
  for (const auto& p : proto->metadata_props()) m.metadata.emplace_back(p.key(), p.value());

  NodeReader reader(m, proto, external);
  NodeReader::Scope scope;
  reader.graph(proto->graph(), m.graph, scope);
  // Below IR version 4 every initializer had to be an input; that says nothing, and write() says it
  // again where it is needed.
  if (m.ir_version < 4)
    std::erase_if(m.graph.inputs, [](const ir::Value* v) { return v->data != nullptr; });
  return m;
}

void TypeMerger::know(const ir::Type& t) {
  if (t.shape)
    for (const Dim& d : *t.shape)
      if (d.is_symbol()) symbols_.insert(d.symbol);
  if (t.element) know(*t.element);
}

void TypeMerger::merge(ir::Type& into, const pb::TypeProto& inferred) const {
  if (inferred.value_case() == pb::TypeProto::kMapType ||
      inferred.value_case() == pb::TypeProto::kSparseTensorType)
    return;
  merge(into, from_proto(inferred));
}

void TypeMerger::merge(ir::Type& into, const ir::Type& inferred) const {
  if (into.kind == ir::Type::Kind::Unknown) into.kind = inferred.kind;
  if (into.kind != inferred.kind) return;
  if (into.kind != ir::Type::Kind::Tensor) {
    if (!inferred.element) return;
    ir::Type element = into.element ? *into.element : ir::Type{};
    merge(element, *inferred.element);
    into.element = std::make_shared<const ir::Type>(std::move(element));
    return;
  }
  if (into.dtype == DType::Undefined) into.dtype = inferred.dtype;
  if (!inferred.shape) return;
  if (!into.shape) into.shape.emplace(inferred.shape->size());
  if (into.shape->size() != inferred.shape->size()) return;
  for (size_t i = 0; i < into.shape->size(); ++i) {
    Dim& mine = (*into.shape)[i];
    const Dim& theirs = (*inferred.shape)[i];
    if (mine.kind != Dim::Kind::Unknown) continue;
    if (theirs.is_number() || (theirs.is_symbol() && symbols_.contains(theirs.symbol)))
      mine = theirs;
  }
}

}  // namespace oe::onnx
