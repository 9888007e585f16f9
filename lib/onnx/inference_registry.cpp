// Shape inference of nested graphs in time that their own size says.
#include "lib/onnx/inference_registry.h"

#include <onnx/shape_inference/implementation.h>

#include <map>
#include <mutex>
#include <utility>

#include "lib/onnx/registry.h"

namespace oe::onnx {
namespace {

using Outer = pb::shape_inference::GraphInferenceContext::OuterScopeValueTypesMap;

// Names that `g` uses, its own among them.
template <class F>
void for_each_use(const pb::GraphProto& g, const F& f) {
  for (const auto& n : g.node()) {
    for (const auto& name : n.input()) f(name);
    for (const auto& a : n.attribute())
      if (a.has_g()) for_each_use(a.g(), f);
  }
  for (const auto& o : g.output()) f(o.name());
}

void infer_with_used_types(pb::InferenceContext& context, const pb::InferenceFunction& infer) {
  auto* c = dynamic_cast<pb::shape_inference::InferenceContextImpl*>(&context);
  if (!c || !c->graphInferenceContext_) return infer(context);
  const auto& whole = *c->graphInferenceContext_;
  Outer used;
  for (const auto& [name, graph] : c->graphProtoAttributesByName_)
    for_each_use(*graph, [&](const std::string& value) {
      if (auto it = whole.outer_scope_value_types_by_name->find(value);
          it != whole.outer_scope_value_types_by_name->end())
        used.insert(*it);
    });
  pb::shape_inference::GraphInferenceContext narrow(
      used, whole.opset_imports, whole.symbol_table, whole.model_local_functions,
      whole.schema_registry, whole.generated_shape_data_by_name, whole.ir_version);
  auto* const before = std::exchange(c->graphInferenceContext_, &narrow);
  try {
    infer(context);
  } catch (...) {
    c->graphInferenceContext_ = before;
    throw;
  }
  c->graphInferenceContext_ = before;
}

// ONNX gives a sequence that a Loop carries the element shapes that it has before the first
// iteration; the body may put others in.
void forget_carried_elements(pb::InferenceContext& context) {
  for (size_t i = 0; i < context.getNumOutputs(); ++i) {
    auto* type = context.getOutputType(i);
    while (type && type->has_optional_type())
      type = type->mutable_optional_type()->mutable_elem_type();
    if (!type || !type->has_sequence_type()) continue;
    auto* element = type->mutable_sequence_type()->mutable_elem_type();
    if (element->has_tensor_type()) element->mutable_tensor_type()->clear_shape();
  }
}

class Registry : public pb::ISchemaRegistry {
 public:
  const pb::OpSchema* GetSchema(const std::string& op, int version,
                                const std::string& domain) const override {
    const pb::OpSchema* schema = registry().GetSchema(op, version, domain);
    if (!schema || !domain.empty() || (op != "If" && op != "Loop" && op != "Scan")) return schema;
    const std::lock_guard lock(mutex_);
    auto [it, fresh] = changed_.try_emplace(schema);
    if (fresh) {
      it->second = *schema;
      it->second.TypeAndShapeInferenceFunction(
          [infer = schema->GetTypeAndShapeInferenceFunction(),
           carries = op == "Loop"](pb::InferenceContext& context) {
            infer_with_used_types(context, infer);
            if (carries) forget_carried_elements(context);
          });
    }
    return &it->second;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::map<const pb::OpSchema*, pb::OpSchema> changed_;
};

}  // namespace

const pb::ISchemaRegistry& inference_registry() {
  registry();
  static const Registry instance;
  return instance;
}

}  // namespace oe::onnx
