#include "lib/archive/stored.h"

#include <string_view>
#include <unordered_map>

namespace oe::archive {
namespace {

const Global* global_of(const ValuePtr& v) { return v ? v->as<Global>() : nullptr; }

struct Element {
  uint64_t size;
  std::string_view type;
};

// Of a storage's class; null where there is no such class.
const Element* element_of(std::string_view storage_type) {
  static const std::unordered_map<std::string_view, Element> elements = {
      {"Bool", {1, "bool"}},
      {"Byte", {1, "uint8"}},
      {"Char", {1, "int8"}},
      {"QInt8", {1, "qint8"}},
      {"QUInt8", {1, "quint8"}},
      {"QUInt4x2", {1, "quint4x2"}},
      {"QUInt2x4", {1, "quint2x4"}},
      {"Untyped", {1, "untyped"}},
      {"Float8_e5m2", {1, "float8e5m2"}},
      {"Float8_e4m3fn", {1, "float8e4m3fn"}},
      {"Float8_e5m2fnuz", {1, "float8e5m2fnuz"}},
      {"Float8_e4m3fnuz", {1, "float8e4m3fnuz"}},
      {"Short", {2, "int16"}},
      {"UInt16", {2, "uint16"}},
      {"Half", {2, "float16"}},
      {"BFloat16", {2, "bfloat16"}},
      {"Int", {4, "int32"}},
      {"UInt32", {4, "uint32"}},
      {"Float", {4, "float"}},
      {"QInt32", {4, "qint32"}},
      {"ComplexHalf", {4, "complex32"}},
      {"Long", {8, "int64"}},
      {"UInt64", {8, "uint64"}},
      {"Double", {8, "double"}},
      {"ComplexFloat", {8, "complex64"}},
      {"ComplexDouble", {16, "complex128"}}};
  constexpr std::string_view before = "torch.", after = "Storage";
  if (!storage_type.starts_with(before) || !storage_type.ends_with(after)) return nullptr;
  storage_type.remove_prefix(before.size());
  storage_type.remove_suffix(after.size());
  const auto it = elements.find(storage_type);
  return it == elements.end() ? nullptr : &it->second;
}

}  // namespace

uint64_t element_size(std::string_view storage_type) {
  const Element* e = element_of(storage_type);
  return e ? e->size : 0;
}

std::string_view element_type(std::string_view storage_type) {
  const Element* e = element_of(storage_type);
  return e ? e->type : "";
}

// ("storage", class, key, device, elements)
StoredStorage storage_of(const Persistent& p) {
  const auto* id = p.id->as<Tuple>();
  if (!id || id->items.size() < 5) throw Malformed("refers to something that is no storage");
  const auto* kind = id->items[0]->as<std::string>();
  const Global* type = global_of(id->items[1]);
  const auto *key = id->items[2]->as<std::string>(), *device = id->items[3]->as<std::string>();
  const auto* elements = id->items[4]->as<int64_t>();
  if (!kind || *kind != "storage" || !type || !key || !device || !elements || *elements < 0)
    throw Malformed("refers to something that is no storage");
  return {*key, type->name, *device, *elements};
}

bool makes_tensor(const Called& call) {
  const Global* f = global_of(call.callee);
  return f && f->name == "torch._utils._rebuild_tensor_v2";
}

// (storage, offset, sizes, strides, ...)
StoredTensor tensor_of(const Called& call) {
  const auto* given = call.arguments->as<Tuple>();
  if (!given || given->items.size() < 4) throw Malformed("makes a tensor of too little");
  const auto* storage = given->items[0]->as<Persistent>();
  const auto* offset = given->items[1]->as<int64_t>();
  const auto *sizes = given->items[2]->as<Tuple>(), *strides = given->items[3]->as<Tuple>();
  if (!storage || !offset || *offset < 0 || !sizes || !strides ||
      sizes->items.size() != strides->items.size())
    throw Malformed(
        "makes a tensor of something else than a storage, an offset, sizes and strides");
  StoredTensor t{storage_of(*storage), *offset, {}, {}};
  for (size_t i = 0; i < sizes->items.size(); ++i) {
    const auto *size = sizes->items[i]->as<int64_t>(), *stride = strides->items[i]->as<int64_t>();
    if (!size || !stride || *size < 0 || *stride < 0)
      throw Malformed("makes a tensor of a negative size");
    t.sizes.push_back(*size);
    t.strides.push_back(*stride);
  }
  return t;
}

}  // namespace oe::archive
