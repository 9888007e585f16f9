// Operators that the ONNX specification defines by a body of simpler operators.
#include <google/protobuf/arena.h>
#include <onnx/defs/function.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>

#include "lib/onnx/body.h"
#include "lib/onnx/encode.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/proto.h"
#include "lib/onnx/registry.h"
#include "lib/onnx/schema.h"

namespace oe::onnx {
namespace {

// The newest version that is not beyond `opset`; 0 when there is none.
int newest_of(const std::vector<int>& ascending, int64_t opset) {
  int found = 0;
  for (int v : ascending)
    if (v <= opset) found = v;
  return found;
}

// The schema's body at `opset`, fixed or built for the node; false when there is none, or it uses
// operators in a way that `opset` no longer knows.
bool body_of(const pb::OpSchema& schema, const pb::NodeProto& node,
             const std::vector<pb::TypeProto>& input_types, int64_t opset,
             pb::FunctionProto& body) {
  if (const int written = newest_of(schema.function_opset_versions(), opset)) {
    body = *schema.GetFunction(written);
    if (incompatible(body, written, opset).empty()) return true;
  }
  if (const int written = newest_of(schema.context_dependent_function_opset_versions(), opset)) {
    const pb::FunctionBodyBuildContextImpl context(node, input_types);
    body.Clear();
    try {
      return schema.BuildContextDependentFunction(context, body, written) &&
             incompatible(body, written, opset).empty();
    } catch (const std::exception&) {
      return false;  // the builder misses a type
    }
  }
  return false;
}

}  // namespace

bool expand_function(ir::Model& m, const ir::Node& n, int64_t opset,
                     std::vector<std::unique_ptr<ir::Node>>& out) {
  const pb::OpSchema* schema = registry().GetSchema(n.op, static_cast<int>(opset), n.domain);
  if (!schema || (!schema->HasFunction() && !schema->HasContextDependentFunction())) return false;

  pb::NodeProto proto;
  if (!proto.ParseFromString(encode_node(n, {}).flatten())) return false;
  std::vector<pb::TypeProto> input_types;
  for (const ir::Value* v : n.inputs)
    input_types.push_back(v ? to_proto(v->type) : pb::TypeProto());
  auto body = std::make_shared<pb::FunctionProto>();
  if (!body_of(*schema, proto, input_types, opset, *body)) return false;

  const Schema* plain = find_schema(n.domain, n.op, opset);
  const auto lookup = [&](const std::string& name) -> const ir::Attribute* {
    if (const ir::Attribute* given = n.attributes.find(name)) return given;
    const SchemaAttribute* a = plain ? plain->attribute(name) : nullptr;
    return a && a->has_default ? &a->default_value : nullptr;
  };
  put_body(m, n, body, opset, lookup, out);
  return true;
}

}  // namespace oe::onnx
