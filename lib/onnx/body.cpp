// Bodies of functions put in the place of a node.
#include "lib/onnx/body.h"

#include <google/protobuf/arena.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "lib/onnx/encode.h"
#include "lib/onnx/registry.h"
#include "lib/onnx/schema.h"

namespace oe::onnx {
namespace {

// Whether a node written for `older` means the same under `newer`: nothing was taken away, defaults
// stayed, what is new can be left out. Versions that only add element types are the usual case.
bool compatible(const Schema& older, const Schema& newer) {
  if (&older == &newer) return true;
  if (newer.deprecated) return false;
  const auto extends = [](const std::vector<Formal>& from, const std::vector<Formal>& to) {
    for (size_t i = 0; i < std::max(from.size(), to.size()); ++i) {
      if (i >= to.size()) return false;
      if (i >= from.size()
              ? !to[i].optional
              : from[i].optional != to[i].optional || from[i].variadic != to[i].variadic)
        return false;
    }
    return true;
  };
  if (!extends(older.inputs, newer.inputs) || !extends(older.outputs, newer.outputs)) return false;
  for (const SchemaAttribute& a : older.attributes) {
    const SchemaAttribute* b = newer.attribute(a.name);
    if (!b || a.has_default != b->has_default || a.default_value != b->default_value) return false;
  }
  for (const SchemaAttribute& b : newer.attributes)
    if (b.required && !older.attribute(b.name)) return false;
  return true;
}

template <class Nodes>
std::string first_incompatible(const Nodes& nodes, int64_t written, int64_t opset) {
  for (const auto& n : nodes) {
    if (n.domain().empty() || n.domain() == "ai.onnx") {
      const Schema* older = find_schema("", n.op_type(), written);
      const Schema* newer = find_schema("", n.op_type(), opset);
      if (!older || !newer || !compatible(*older, *newer)) return n.op_type();
    }
    for (const auto& a : n.attribute())
      if (a.has_g())
        if (std::string inner = first_incompatible(a.g().node(), written, opset); !inner.empty())
          return inner;
  }
  return {};
}

// Types of the new nodes' values, from those of the expanded node's inputs and outputs.
void infer_types(const ir::Model& m, const std::vector<std::unique_ptr<ir::Node>>& nodes,
                 size_t first, int64_t opset) {
  google::protobuf::Arena arena;
  auto* g = google::protobuf::Arena::CreateMessage<pb::GraphProto>(&arena);
  TypeMerger merger;
  std::unordered_map<std::string, ir::Value*> made;
  const EncodeOptions options;
  for (size_t i = first; i < nodes.size(); ++i) {
    const ir::Node& n = *nodes[i];
    for (ir::Value* v : n.inputs) {
      if (!v || made.contains(v->name)) continue;
      merger.know(v->type);
      auto* info = g->add_input();
      info->set_name(v->name);
      *info->mutable_type() = to_proto(v->type);
    }
    for (ir::Value* v : n.outputs)
      if (v) made[v->name] = v;
    if (!g->add_node()->ParseFromString(encode_node(n, options).flatten())) return;
  }
  std::unordered_map<std::string, int> opsets;
  for (const auto& [domain, version] : m.opsets) opsets[domain] = static_cast<int>(version);
  opsets[""] = static_cast<int>(opset);
  try {
    pb::shape_inference::InferShapes(g, opsets, &registry(),
                                     pb::ShapeInferenceOptions{false, 0, false});
  } catch (const std::exception&) {
    // Types stay open; infer() over the whole model comes later.
  }
  for (const auto& info : g->value_info())
    if (auto it = made.find(info.name()); it != made.end())
      merger.merge(it->second->type, info.type());
}

}  // namespace

std::string incompatible(const pb::FunctionProto& body, int64_t written, int64_t opset) {
  return first_incompatible(body.node(), written, opset);
}

void put_body(ir::Model& m, const ir::Node& n, const std::shared_ptr<const pb::FunctionProto>& body,
              int64_t opset, const NodeReader::AttributeLookup& lookup,
              std::vector<std::unique_ptr<ir::Node>>& out) {
  NodeReader reader(m, body, {});
  reader.prefix = n.name + "/";
  reader.origin = n.origin;
  reader.lookup = lookup;
  NodeReader::Scope scope;
  for (int i = 0; i < body->input_size(); ++i)
    scope.values[body->input(i)] = n.input(static_cast<size_t>(i));
  // An output nobody wants still needs a value, as nodes of the body may read it.
  for (int i = 0; i < body->output_size() && i < static_cast<int>(n.outputs.size()); ++i)
    if (n.outputs[i]) scope.values[body->output(i)] = n.outputs[i];
  const size_t first = out.size();
  for (const auto& node : body->node()) {
    reader.declare(node, scope);
    out.push_back(reader.node(node, scope));
  }
  infer_types(m, out, first, opset);
}

}  // namespace oe::onnx
