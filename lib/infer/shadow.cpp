// Tensors without data: what an operator makes of shapes and element types, at no cost.
#include "lib/infer/shadow.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/full.h>

namespace oe::infer {
namespace {

// What an operator without a meta kernel may be given: more takes too long.
constexpr int64_t kFilled = int64_t{1} << 24;

bool is_shadow(const at::Tensor& t) { return t.defined() && t.is_meta(); }

bool any_shadow(const torch::jit::Stack& stack) {
  bool found = false;
  for (const c10::IValue& v : stack)
    for_each_tensor(v, [&](const at::Tensor& t) { found = found || is_shadow(t); });
  return found;
}

// Whatever the operator makes lies where its arguments lie.
void place_on_meta(const c10::FunctionSchema& schema, torch::jit::Stack& stack) {
  for (size_t i = 0; i < stack.size() && i < schema.arguments().size(); ++i)
    if (stack[i].isDevice()) stack[i] = c10::Device(c10::kMeta);
}

void keep_small(torch::jit::Stack& stack) {
  for (c10::IValue& v : stack) v = map_tensors(v, without_data);
}

// The arguments that an in-place operator was given, in place of what came out of their copies.
void give_back(const c10::FunctionSchema& schema, const std::vector<c10::IValue>& given,
               torch::jit::Stack& stack) {
  for (size_t r = 0; r < schema.returns().size() && r < stack.size(); ++r) {
    const c10::AliasInfo* out = schema.returns()[r].alias_info();
    if (!out || !out->isWrite()) continue;
    for (size_t i = 0; i < schema.arguments().size() && i < given.size(); ++i) {
      const c10::AliasInfo* in = schema.arguments()[i].alias_info();
      if (in && in->isWrite() && in->beforeSets() == out->beforeSets()) stack[r] = given[i];
    }
  }
}

}  // namespace

at::Tensor shadow(const at::Tensor& t) {
  if (!t.defined() || t.is_meta()) return t;
  // LibTorch has no quantized tensors on the meta device: they are computed.
  if (t.layout() != c10::kStrided || t.is_quantized()) return t;
  at::Tensor s = at::empty_strided(t.sizes(), t.strides(), t.options().device(c10::kMeta));
  if (t.is_leaf() && t.requires_grad()) s.set_requires_grad(true);
  return s;
}

at::Tensor without_data(const at::Tensor& t) {
  if (!t.defined() || t.is_meta()) return t;
  return t.numel() > kComputed ? shadow(t) : t.to(at::kCPU);
}

at::Tensor filled(const at::Tensor& t) {
  if (!is_shadow(t)) return t;
  TORCH_CHECK(t.numel() <= kFilled, "too many elements to try");
  const auto type = t.scalar_type();
  const double number = c10::isIntegralType(type, /*includeBool=*/false) ? 0 : 0.5;
  return at::full({}, number, at::TensorOptions().dtype(type)).expand(t.sizes());
}

c10::IValue map_tensors(const c10::IValue& v,
                        const std::function<at::Tensor(const at::Tensor&)>& f) {
  if (v.isTensor()) {
    const at::Tensor& t = v.toTensor();
    at::Tensor mapped = f(t);
    return mapped.is_same(t) ? v : c10::IValue(std::move(mapped));
  }
  bool changed = false;
  const auto each = [&](const c10::IValue& e) {
    c10::IValue mapped = map_tensors(e, f);
    changed = changed || !mapped.is(e);
    return mapped;
  };
  if (v.isTuple()) {
    std::vector<c10::IValue> elements;
    for (const c10::IValue& e : v.toTupleRef().elements()) elements.push_back(each(e));
    if (!changed) return v;
    return c10::ivalue::Tuple::createNamed(std::move(elements), v.type()->expect<c10::TupleType>());
  }
  if (v.isTensorList() || v.isList()) {
    const auto list = v.toList();
    const auto kind = list.elementType()->kind();
    if (kind == c10::TypeKind::IntType || kind == c10::TypeKind::FloatType ||
        kind == c10::TypeKind::BoolType || kind == c10::TypeKind::StringType)
      return v;
    c10::impl::GenericList copy(list.elementType());
    for (const c10::IValue& e : v.toListRef()) copy.push_back(each(e));
    return changed ? c10::IValue(std::move(copy)) : v;
  }
  if (v.isGenericDict()) {
    const auto dict = v.toGenericDict();
    c10::impl::GenericDict copy(dict.keyType(), dict.valueType());
    for (const auto& e : dict) copy.insert(e.key(), each(e.value()));
    return changed ? c10::IValue(std::move(copy)) : v;
  }
  return v;
}

void for_each_tensor(const c10::IValue& v, const std::function<void(const at::Tensor&)>& f) {
  if (v.isTensor()) {
    f(v.toTensor());
  } else if (v.isTuple()) {
    for (const c10::IValue& e : v.toTupleRef().elements()) for_each_tensor(e, f);
  } else if (v.isList() && !v.isIntList() && !v.isDoubleList() && !v.isBoolList()) {
    for (const c10::IValue& e : v.toListRef()) for_each_tensor(e, f);
  } else if (v.isGenericDict()) {
    for (const auto& e : v.toGenericDict()) for_each_tensor(e.value(), f);
  }
}

void run_operator(const torch::jit::Operator& op, torch::jit::Stack& stack) {
  torch::jit::Operation operation = op.getOperation();
  const c10::FunctionSchema& schema = op.schema();
  // TorchScript's own operators work on the values as they are: a list keeps its identity.
  const bool own = !c10::Dispatcher::singleton().findSchema(schema.operator_name());
  if (!any_shadow(stack)) {
    operation(stack);
    return own ? void() : keep_small(stack);
  }
  const std::vector<c10::IValue> given = stack;
  const auto run_with = [&](const std::function<at::Tensor(const at::Tensor&)>& f) {
    stack = given;
    for (c10::IValue& v : stack) v = map_tensors(v, f);
  };
  try {
    if (!own) {
      run_with(shadow);
      place_on_meta(schema, stack);
    }
    operation(stack);
  } catch (const c10::NotImplementedError&) {
    run_with(filled);
    operation(stack);
  }
  if (own) return;
  give_back(schema, given, stack);
  keep_small(stack);
}

}  // namespace oe::infer
