// ir::Model to protobuf bytes, message by message. Fields go out in ascending order, as protobuf's
// own serializer writes them; field numbers are those of onnx.proto.
#include "lib/onnx/encode.h"

#include <algorithm>
#include <stdexcept>
#include <unordered_set>

#include "lib/onnx/schema.h"

namespace oe::onnx {
namespace {

// AttributeProto.AttributeType
enum AttributeType {
  kFloat = 1,
  kInt,
  kString,
  kTensor,
  kGraph,
  kFloats,
  kInts,
  kStrings,
  kType = 13
};

std::string source_line(const Origin& o) {
  std::string s = o.op;
  if (!o.module_path.empty()) s += " in " + o.module_path;
  if (!o.file.empty()) s += "\n" + o.file + ":" + std::to_string(o.line);
  if (!o.text.empty()) s += "\n" + o.text;
  return s;
}

class Encoder {
 public:
  explicit Encoder(const EncodeOptions& o) : o_(o) {}

  void model(const ir::Model& m) {
    const int64_t ir_version = m.ir_version ? m.ir_version : ir_version_for_opset(m.opset());
    r_.integer(1, ir_version);
    r_.bytes(2, m.producer_name);
    if (!m.producer_version.empty()) r_.bytes(3, m.producer_version);
    if (!m.doc.empty()) r_.bytes(6, m.doc);
    r_.message(7, [&] { graph(m.graph, /*main=*/true, ir_version); });
    for (const auto& [domain, version] : m.opsets) r_.message(8, [&] { opset(domain, version); });
    for (const auto& [key, value] : m.metadata) r_.message(14, [&] { string_pair(key, value); });
    for (const ir::Function& f : m.functions) r_.message(25, [&] { function(f); });
  }

  void node(const ir::Node& n) {
    names(1, n.inputs, n.is("Loop") ? kLoopInputs : 0);
    names(2, n.outputs);
    r_.bytes(3, n.name);
    r_.bytes(4, n.op);
    for (const auto& [name, value] : n.attributes) r_.message(5, [&] { attribute(name, value); });
    if (o_.doc_strings && n.origin) r_.bytes(6, source_line(*n.origin));
    if (!n.domain.empty()) r_.bytes(7, n.domain);
  }

  Rope take() { return std::move(r_); }

 private:
  // The trip count and the condition: schemas count an empty name as an input.
  static constexpr size_t kLoopInputs = 2;

  // Left-out trailing values need no empty name, but for the first `least`.
  void names(int field, const std::vector<ir::Value*>& values, size_t least = 0) {
    size_t n = values.size();
    while (n > least && !values[n - 1]) --n;
    for (size_t i = 0; i < n; ++i)
      r_.bytes(field, values[i] ? std::string_view(values[i]->name) : std::string_view());
  }

  void opset(const std::string& domain, int64_t version) {
    r_.bytes(1, domain);
    r_.integer(2, version);
  }

  void function(const ir::Function& f) {
    r_.bytes(1, f.name);
    for (const ir::Value* v : f.body.inputs) r_.bytes(4, v->name);
    for (const ir::Value* v : f.body.outputs) r_.bytes(5, v->name);
    for (const std::string& name : f.attributes) r_.bytes(6, name);
    for (const auto& n : f.body.nodes) r_.message(7, [&] { node(*n); });
    for (const auto& [domain, version] : f.opsets) r_.message(9, [&] { opset(domain, version); });
    r_.bytes(10, f.domain);
  }

  void graph(const ir::Graph& g, bool main, int64_t ir_version) {
    for (const auto& n : g.nodes) r_.message(1, [&] { node(*n); });
    r_.bytes(2, !g.name.empty() ? g.name : main ? "main_graph" : "body");

    const auto is_stub = [&](const ir::Value* v) {
      return main && v->data->nbytes() > o_.stub_above;
    };
    for (const ir::Value* v : g.initializers)
      if (!is_stub(v)) r_.message(5, [&] { tensor(*v->data, v->name); });
    for (const ir::Value* v : g.inputs) r_.message(11, [&] { value_info(*v); });
    // Before IR version 4 an initializer has to be a graph input too.
    const bool listed = ir_version < 4 || (main && o_.initializers_as_inputs);
    std::unordered_set<const ir::Value*> inputs(g.inputs.begin(), g.inputs.end());
    for (const ir::Value* v : g.initializers)
      if ((listed || is_stub(v)) && !inputs.contains(v))
        r_.message(11, [&] { initializer_info(*v); });
    for (const ir::Value* v : g.outputs) r_.message(12, [&] { value_info(*v); });

    const std::unordered_set<const ir::Value*> outputs(g.outputs.begin(), g.outputs.end());
    for (const auto& n : g.nodes)
      for (const ir::Value* v : n->outputs)
        if (v && is_known(v->type) && !outputs.contains(v)) r_.message(13, [&] { value_info(*v); });
  }

  static bool is_known(const ir::Type& t) {
    switch (t.kind) {
      case ir::Type::Kind::Unknown:
        return false;
      case ir::Type::Kind::Tensor:
        return t.dtype != DType::Undefined;
      default:
        return t.element && is_known(*t.element);
    }
  }

  void value_info(const ir::Value& v) {
    r_.bytes(1, v.name);
    if (is_known(v.type)) r_.message(2, [&] { type(v.type); });
  }

  void initializer_info(const ir::Value& v) {
    std::vector<Dim> dims;
    for (int64_t d : v.data->dims()) dims.push_back(Dim::of(d));
    r_.bytes(1, v.name);
    r_.message(2, [&] { type(ir::Type::tensor(v.data->dtype(), std::move(dims))); });
  }

  void type(const ir::Type& t) {
    switch (t.kind) {
      case ir::Type::Kind::Unknown:
        break;
      case ir::Type::Kind::Tensor:
        r_.message(1, [&] {
          r_.integer(1, static_cast<int>(t.dtype));
          if (t.shape) r_.message(2, [&] { dims(*t.shape); });
        });
        break;
      case ir::Type::Kind::Sequence:
        element_type(4, t);
        break;
      case ir::Type::Kind::Optional:
        element_type(9, t);
        break;
    }
  }
  void element_type(int field, const ir::Type& t) {
    r_.message(field, [&] {
      if (t.element) r_.message(1, [&] { type(*t.element); });
    });
  }

  void dims(const std::vector<Dim>& list) {
    for (const Dim& d : list)
      r_.message(1, [&] {
        if (d.is_number()) r_.integer(1, d.number);
        if (d.is_symbol()) r_.bytes(2, d.symbol);
      });
  }

  void attribute(const std::string& name, const ir::Attribute& a) {
    r_.bytes(1, name);
    std::visit([&](const auto& v) { r_.integer(20, attribute_value(v)); }, a);
    if (const auto* r = std::get_if<ir::Reference>(&a)) r_.bytes(21, r->name);
  }
  // Each writes its field and gives the AttributeType.
  int attribute_value(const ir::Reference& v) { return v.type; }  // its name follows
  int attribute_value(int64_t v) { return r_.integer(3, v), kInt; }
  int attribute_value(float v) { return r_.float32(2, v), kFloat; }
  int attribute_value(const std::string& v) { return r_.bytes(4, v), kString; }
  int attribute_value(const ir::Ints& v) {
    for (int64_t i : v) r_.integer(8, i);
    return kInts;
  }
  int attribute_value(const ir::Floats& v) {
    for (float f : v) r_.float32(7, f);
    return kFloats;
  }
  int attribute_value(const ir::Strings& v) {
    for (const std::string& s : v) r_.bytes(9, s);
    return kStrings;
  }
  int attribute_value(const TensorPtr& v) {
    r_.message(5, [&] { tensor(*v, {}); });
    return kTensor;
  }
  int attribute_value(const std::shared_ptr<ir::Graph>& v) {
    // Nested graphs declare no initializers as inputs: those would be values the body is given.
    r_.message(6, [&] { graph(*v, /*main=*/false, std::numeric_limits<int64_t>::max()); });
    return kGraph;
  }

  int attribute_value(const ir::Type& v) {
    r_.message(14, [&] { type(v); });
    return kType;
  }

  void tensor(const Tensor& t, std::string_view name) {
    for (int64_t d : t.dims()) r_.integer(1, d);
    r_.integer(2, static_cast<int>(t.dtype()));
    for (const std::string& s : t.strings()) r_.bytes(6, s);
    if (!name.empty()) r_.bytes(8, name);
    if (t.dtype() == DType::String || t.nbytes() == 0) return;
    if (o_.external) {
      if (auto it = o_.external->offsets.find(&t); it != o_.external->offsets.end())
        return external_data(it->second, t.nbytes());
    }
    r_.view(9, t);
  }

  void external_data(uint64_t offset, size_t length) {
    r_.message(13, [&] { string_pair("location", o_.external->location); });
    r_.message(13, [&] { string_pair("offset", std::to_string(offset)); });
    r_.message(13, [&] { string_pair("length", std::to_string(length)); });
    r_.integer(14, 1);  // EXTERNAL
  }

  void string_pair(std::string_view key, std::string_view value) {
    r_.bytes(1, key);
    r_.bytes(2, value);
  }

  const EncodeOptions& o_;
  Rope r_;
};

}  // namespace

Rope encode(const ir::Model& m, const EncodeOptions& o) {
  Encoder e(o);
  e.model(m);
  return e.take();
}

Rope encode_node(const ir::Node& n, const EncodeOptions& o) {
  Encoder e(o);
  e.node(n);
  return e.take();
}

}  // namespace oe::onnx
