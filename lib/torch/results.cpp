// The outputs of a program, from the value that a method returned.
#include "lib/torch/results.h"

#include <ATen/core/Dict.h>
#include <ATen/core/List.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/int_repr.h>
#include <ATen/ops/stack.h>

#include <stdexcept>
#include <utility>

#include "lib/torch/convert.h"
#include "lib/torch/copies.h"
#include "lib/torch/state.h"
#include "lib/torch/values.h"

namespace oe::torch_io {
namespace {

using program::Result;
using Kind = Result::Kind;

bool is_leaf(const c10::IValue& v) {
  return v.isTensor() || v.isInt() || v.isDouble() || v.isBool();
}
bool is_number_type(const c10::TypePtr& t) {
  return t->kind() == c10::TypeKind::IntType || t->kind() == c10::TypeKind::FloatType ||
         t->kind() == c10::TypeKind::BoolType;
}

// The values in a tuple, list or dict.
std::vector<c10::IValue> items_of(const c10::IValue& v) {
  if (v.isTuple()) return v.toTupleRef().elements().vec();
  if (v.isList()) return v.toListRef().vec();
  if (!v.isGenericDict())
    throw std::runtime_error("a result of type " + v.type()->repr_str() + " cannot be compared");
  std::vector<c10::IValue> items;
  for (const auto& e : v.toGenericDict()) items.push_back(e.value());
  return items;
}

// The structure of a value whose outputs have these kinds.
class Finder {
 public:
  explicit Finder(const std::vector<Result>& outputs) : outputs_(outputs) {}

  Result find(const c10::IValue& v) {
    if (is_leaf(v)) return take(Kind::Value);
    if (v.isNone()) return next().optional ? take(Kind::Value) : Result{Kind::Absent};
    if (v.isList()) {
      if (next().kind == Kind::Sequence) return take(Kind::Sequence);
      if (next().kind == Kind::Vector && is_number_type(v.toList().elementType()))
        return take(Kind::Vector);
    }
    Result result{Kind::Items};
    for (const c10::IValue& item : items_of(v)) result.items.push_back(find(item));
    return result;
  }

 private:
  Result next() const { return at_ < outputs_.size() ? outputs_[at_] : Result(); }
  Result take(Kind kind) {
    const bool optional = next().optional;
    ++at_;
    return {kind, optional};
  }

  const std::vector<Result>& outputs_;
  size_t at_ = 0;
};

TensorPtr host(const c10::IValue& v) {
  if (!v.isTensor()) return to_host(number_tensor(v));
  const at::Tensor& t = v.toTensor();
  return to_host(t.is_quantized() ? at::int_repr(t) : t);
}

TensorPtr numbers(const c10::IValue& list) {
  std::vector<at::Tensor> all;
  for (const c10::IValue& e : list.toListRef()) all.push_back(number_tensor(e));
  if (!all.empty()) return to_host(at::stack(all));
  const auto element = list.toList().elementType()->kind();
  return to_host(at::empty({0}, element == c10::TypeKind::IntType     ? at::kLong
                                : element == c10::TypeKind::FloatType ? at::kDouble
                                                                      : at::kBool));
}

void add(const c10::IValue& v, const Result& result, std::vector<HostValue>& out) {
  if (v.isNone()) {
    if (result.optional) out.insert(out.end(), result.outputs(), HostValue::none());
    return;
  }
  if (is_leaf(v)) {
    out.push_back(HostValue::of(host(v)));
  } else if (result.kind == Kind::Vector) {
    out.push_back(HostValue::of(numbers(v)));
  } else if (result.kind == Kind::Sequence) {
    std::vector<TensorPtr> tensors;
    for (const c10::IValue& e : v.toListRef()) tensors.push_back(host(e));
    out.push_back(HostValue::of(std::move(tensors)));
  } else {
    const std::vector<c10::IValue> items = items_of(v);
    for (size_t i = 0; i < items.size(); ++i)
      add(items[i], i < result.items.size() ? result.items[i] : Finder({}).find(items[i]), out);
  }
}

}  // namespace

std::vector<HostValue> flatten(const c10::IValue& result, const ResultForm& form,
                               const torch::jit::Module& m) {
  std::vector<HostValue> out;
  if (!form.captured) {
    add(result, Finder(form.outputs).find(result), out);
    return out;
  }
  add(result, form.captured->method, out);
  for (const program::StateResult& s : form.captured->state)
    add(deep_copy(attribute_value(m, s.attribute)), s.result, out);
  return out;
}

}  // namespace oe::torch_io
