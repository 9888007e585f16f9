// Copies where LibTorch's deepcopy() loses something.
#include "lib/torch/copies.h"

#include <ATen/ops/empty.h>

#include <unordered_map>
#include <utility>
#include <vector>

namespace oe::torch_io {
namespace {

// Whether values of this type can contain named tuples.
bool can_hold_tuples(const c10::TypePtr& t) {
  switch (t->kind()) {
    case c10::TypeKind::TensorType:
    case c10::TypeKind::IntType:
    case c10::TypeKind::FloatType:
    case c10::TypeKind::BoolType:
    case c10::TypeKind::StringType:
      return false;
    default:
      return true;
  }
}

// `copy` with the tuple types of the value that it is a copy of.
c10::IValue with_types_of(const c10::IValue& v, const c10::IValue& copy) {
  if (v.isTuple()) {
    const auto& was = v.toTupleRef().elements();
    const auto& now = copy.toTupleRef().elements();
    std::vector<c10::IValue> elements;
    for (size_t i = 0; i < was.size(); ++i) elements.push_back(with_types_of(was[i], now[i]));
    return c10::ivalue::Tuple::createNamed(std::move(elements), v.type()->expect<c10::TupleType>());
  }
  if (v.isList() && can_hold_tuples(v.type()->expectRef<c10::ListType>().getElementType())) {
    c10::List<c10::IValue> list = copy.toList();
    for (size_t i = 0; i < list.size(); ++i)
      list.set(i, with_types_of(v.toList().get(i), list.get(i)));
  }
  if (v.isGenericDict() && can_hold_tuples(v.type()->expectRef<c10::DictType>().getValueType())) {
    auto dict = copy.toGenericDict();
    for (const auto& e : v.toGenericDict())
      dict.insert_or_assign(e.key(), with_types_of(e.value(), dict.at(e.key())));
  }
  return copy;
}

using Storages = std::unordered_map<c10::StorageImpl*, std::vector<at::Tensor>>;

// The plain tensors of a module by their storages.
Storages storages_of(const torch::jit::Module& module) {
  Storages all;
  for (const c10::IValue& value : module.attributes(/*recurse=*/true)) {
    if (value.isModule()) continue;  // a submodule's attributes are listed themselves
    value.visit([&](const c10::IValue& v) {
      if (v.isTensor() && v.toTensor().has_storage() && !v.toTensor().is_quantized())
        all[v.toTensor().storage().unsafeGetStorageImpl()].push_back(v.toTensor());
      return false;
    });
  }
  return all;
}

// The tensor whose memory is the copied storage.
at::Tensor same_view(const at::Tensor& of, const at::Tensor& bytes) {
  const auto size = static_cast<int64_t>(of.itemsize());
  const at::Tensor view = bytes.narrow(0, 0, bytes.numel() / size * size)
                              .view(of.scalar_type())
                              .as_strided(of.sizes(), of.strides(), of.storage_offset())
                              .detach();
  return view.set_requires_grad(of.requires_grad());
}

}  // namespace

c10::IValue deep_copy(const c10::IValue& v, std::optional<c10::Device> device) {
  return with_types_of(v, v.deepcopy(device));
}

torch::jit::Module copy_to(c10::Device device, const torch::jit::Module& module) {
  c10::IValue::HashIdentityIValueMap made;  // in place of what deepcopy() would make
  for (const auto& [storage, tensors] : storages_of(module)) {
    if (tensors.size() < 2) continue;
    at::Tensor bytes = at::empty({0}, at::TensorOptions().dtype(at::kByte));
    bytes.set_(tensors[0].storage(), 0, {static_cast<int64_t>(storage->nbytes())}, {1});
    const at::Tensor copy = bytes.to(device, /*non_blocking=*/false, /*copy=*/true);
    for (const at::Tensor& t : tensors) made.emplace(t, same_view(t, copy));
  }
  return torch::jit::Module(c10::IValue(module._ivalue()).deepcopy(made, device).toObject());
}

}  // namespace oe::torch_io
