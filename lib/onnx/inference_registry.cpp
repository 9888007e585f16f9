// Shape inference of nested graphs in time that their own size says, and of any graph in memory
// that its own size says.
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

// ONNX sets no limit to ranks and nested types, and hands each on to all that follows.
constexpr int kRank = 128, kNesting = 8;

void require_sane(const pb::TypeProto& t, int depth = 0) {
  if (depth > kNesting) fail_shape_inference("types nest deeper than ", kNesting, " levels");
  if (t.has_sequence_type()) require_sane(t.sequence_type().elem_type(), depth + 1);
  if (t.has_optional_type()) require_sane(t.optional_type().elem_type(), depth + 1);
  if (t.has_tensor_type() && t.tensor_type().shape().dim_size() > kRank)
    fail_shape_inference("a tensor of more than ", kRank, " axes");
}

void infer_sane(pb::InferenceContext& context, const pb::InferenceFunction& infer) {
  for (size_t i = 0; i < context.getNumInputs(); ++i)
    if (const auto* t = context.getInputType(i)) require_sane(*t);
  infer(context);
  for (size_t i = 0; i < context.getNumOutputs(); ++i)
    if (const auto* t = context.getOutputType(i)) require_sane(*t);
}

// Numbers are followed as far as shapes need them: a Concat of a Concat of a Concat doubles them
// each time.
class SmallData : public pb::DataPropagationContext {
 public:
  explicit SmallData(pb::DataPropagationContext& context) : c_(context) {}
  const pb::AttributeProto* getAttribute(const std::string& name) const override {
    return c_.getAttribute(name);
  }
  size_t getNumInputs() const override { return c_.getNumInputs(); }
  const pb::TypeProto* getInputType(size_t i) const override { return c_.getInputType(i); }
  size_t getNumOutputs() const override { return c_.getNumOutputs(); }
  const pb::TypeProto* getOutputType(size_t i) const override { return c_.getOutputType(i); }
  const pb::TensorShapeProto* getInputData(size_t i) override {
    const auto* type = c_.getInputType(i);
    if (type && type->has_tensor_type() && type->tensor_type().shape().dim_size() > 0 &&
        type->tensor_type().shape().dim(0).dim_value() > kMost)
      return nullptr;
    return c_.getInputData(i);
  }
  void addOutputData(size_t i, pb::TensorShapeProto&& data) override {
    if (data.dim_size() <= kMost) c_.addOutputData(i, std::move(data));
  }

 private:
  static constexpr int kMost = 1024;
  pb::DataPropagationContext& c_;
};

class Registry : public pb::ISchemaRegistry {
 public:
  const pb::OpSchema* GetSchema(const std::string& op, int version,
                                const std::string& domain) const override {
    const pb::OpSchema* schema = registry().GetSchema(op, version, domain);
    if (!schema) return schema;
    const std::lock_guard lock(mutex_);
    auto [it, fresh] = changed_.try_emplace(schema);
    if (fresh) {
      it->second = *schema;
      change(it->second, domain.empty() ? op : "");
    }
    return &it->second;
  }

 private:
  static void change(pb::OpSchema& s, const std::string& op) {
    if (op == "If" || op == "Loop" || op == "Scan")
      s.TypeAndShapeInferenceFunction([infer = s.GetTypeAndShapeInferenceFunction(),
                                       carries = op == "Loop"](pb::InferenceContext& context) {
        infer_with_used_types(context, infer);
        if (carries) forget_carried_elements(context);
      });
    if (s.has_type_and_shape_inference_function())
      s.TypeAndShapeInferenceFunction(
          [infer = s.GetTypeAndShapeInferenceFunction()](pb::InferenceContext& context) {
            infer_sane(context, infer);
          });
    if (s.has_data_propagation_function())
      s.PartialDataPropagationFunction(
          [propagate = s.GetDataPropagationFunction()](pb::DataPropagationContext& context) {
            SmallData small(context);
            propagate(small);
          });
  }

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
