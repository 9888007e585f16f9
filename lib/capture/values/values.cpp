// How values come to be: inputs, constants, what the model owns, containers and their attributes.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include "lib/capture/executor.h"

namespace oe::capture {

namespace {

// Whether two tensors of one storage may have an element in common.
bool overlap(const at::Tensor& a, const at::Tensor& b) {
  const auto range = [](const at::Tensor& t) {
    int64_t last = t.storage_offset();
    for (int64_t d = 0; d < t.dim(); ++d) last += (t.size(d) - 1) * t.stride(d);
    const auto size = static_cast<int64_t>(t.element_size());
    return std::pair{t.storage_offset() * size, (last + 1) * size};
  };
  if (a.numel() == 0 || b.numel() == 0) return false;
  const auto [a_begin, a_end] = range(a);
  const auto [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

}  // namespace

AbstractValue Values::tensor(TensorValuePtr v) {
  ex_.recorder.remember_axes(*v);
  auto storage = ex_.heap.make<StorageCell>();
  ex_.heap.set_base(*storage, v);
  auto handle = ex_.heap.make<TensorHandle>();
  handle->cached = std::move(v);
  handle->cached_version = storage->version;
  handle->storage = std::move(storage);
  return AbstractValue::of(std::move(handle));
}

TensorValuePtr Values::input_tensor(program::Value* recorded, PerWorld c, std::vector<Axis> axes) {
  auto v = std::make_shared<TensorValue>();
  v->taint = Taint::Data;
  v->axes = std::move(axes);
  v->c = std::move(c);
  v->recorded = recorded;
  return v;
}

AbstractValue Values::input_number(program::Value* recorded, PerWorld c) {
  AbstractValue s;
  const c10::IValue& example = c.at(0);
  s.kind = example.isBool() ? K::Bool : example.isDouble() ? K::Float : K::Int;
  s.taint = Taint::Data;
  s.recorded = recorded;
  s.c = std::move(c);
  return s;
}

// What the model owns is one value however often it is read, and was there before any branch or
// loop that reads it first.
AbstractValue Values::once(const void* identity, const std::function<AbstractValue()>& make) {
  if (const auto it = wrapped_.find(identity); it != wrapped_.end()) return it->second;
  return wrapped_[identity] = make();
}

AbstractValue Values::wrap_tensor(const at::Tensor& t, const std::string& name) {
  auto value = std::make_shared<TensorValue>();
  value->c = PerWorld::constant(t);
  value->axes.resize(static_cast<size_t>(t.dim()));
  value->name = name;
  AbstractValue s = tensor(value);
  owns_memory(t, *s.tensor());
  model_storages_.push_back({name, s.tensor()->storage, s.tensor()->storage->version, nullptr});
  return s;
}

// Another tensor of the model over the same memory: reading both is fine, writing is not.
void Values::owns_memory(const at::Tensor& t, TensorHandle& handle) {
  handle.serial = handle.storage->serial = 0;
  if (!t.has_storage()) return;
  auto& same_storage = by_memory_[t.storage().unsafeGetStorageImpl()];
  for (const Owned& other : same_storage) {
    if (!overlap(t, other.tensor)) continue;
    if (other.cell->version != other.version)
      ex_.site.refuse(
          "OE4020",
          "a tensor is read that shares memory with another one, which was written before",
          "copy one of them with clone() in __init__", Need::Views);
    Heap::entangle(*other.cell, *handle.storage);
  }
  same_storage.push_back({t, handle.storage, handle.storage->version});
}

AbstractValue Values::wrap_list(const c10::List<c10::IValue>& of, const std::string& name) {
  std::vector<AbstractValue> items;
  for (size_t i = 0; i < of.size(); ++i)
    items.push_back(constant(of.get(i), name + "." + std::to_string(i)));
  AbstractValue s = list(std::move(items), of.elementType());
  s.list()->serial = 0;
  return s;
}

AbstractValue Values::wrap_dict(const c10::Dict<c10::IValue, c10::IValue>& of,
                                const std::string& name) {
  std::vector<std::pair<AbstractValue, AbstractValue>> items;
  for (const auto& e : of) {
    AbstractValue key = constant(e.key(), "");
    const std::string key_name = e.key().isString() ? e.key().toStringRef()
                                 : e.key().isInt()  ? std::to_string(e.key().toInt())
                                                    : "key";
    items.emplace_back(key, constant(e.value(), name + "." + key_name));
  }
  AbstractValue s = dict(std::move(items), of.keyType(), of.valueType());
  s.dict()->serial = 0;
  return s;
}

AbstractValue Values::wrap_object(c10::intrusive_ptr<c10::ivalue::Object> object,
                                  const std::string& name) {
  auto cell = ex_.heap.make<ObjectCell>();
  cell->type = object->type();
  cell->path = name;
  cell->object = std::move(object);
  cell->serial = 0;
  model_objects_.push_back(cell);
  return AbstractValue::of(std::move(cell));
}

AbstractValue Values::constant(const c10::IValue& v, const std::string& name) {
  if (v.isNone()) return AbstractValue::none();
  if (v.isTensor()) {
    const at::Tensor& t = v.toTensor();
    if (!t.defined()) return AbstractValue::none();
    return once(t.unsafeGetTensorImpl(), [&] { return wrap_tensor(t, name); });
  }
  if (v.isInt()) return AbstractValue::of(v.toInt());
  if (v.isDouble()) return AbstractValue::of(v.toDouble());
  if (v.isBool()) return AbstractValue::of(v.toBool());
  if (v.isString()) return AbstractValue::of(v.toStringRef());
  if (v.isTuple()) {
    std::vector<AbstractValue> items;
    const auto& elements = v.toTupleRef().elements();
    for (size_t i = 0; i < elements.size(); ++i)
      items.push_back(constant(elements[i], name + "." + std::to_string(i)));
    return AbstractValue::of_tuple(std::move(items), v.type());
  }
  if (v.isList()) return once(v.internalToPointer(), [&] { return wrap_list(v.toList(), name); });
  if (v.isGenericDict())
    return once(v.internalToPointer(), [&] { return wrap_dict(v.toGenericDict(), name); });
  if (v.isObject())
    return once(v.internalToPointer(), [&] { return wrap_object(v.toObject(), name); });
  return AbstractValue::opaque(v);
}

AbstractValue Values::kept_constant(const c10::IValue& v, const std::string& name) {
  kept_alive_.push_back(v);
  const size_t before = model_storages_.size();
  AbstractValue s = constant(v, name);
  for (size_t i = before; i < model_storages_.size(); ++i)
    model_storages_[i].in_code = ex_.site.here();
  return s;
}

AbstractValue Values::list(std::vector<AbstractValue> items, c10::TypePtr element) {
  auto cell = ex_.heap.make<ListCell>();
  cell->items = std::move(items);
  cell->element = std::move(element);
  return AbstractValue::of(std::move(cell));
}

AbstractValue Values::dict(std::vector<std::pair<AbstractValue, AbstractValue>> items,
                           c10::TypePtr key, c10::TypePtr value) {
  auto cell = ex_.heap.make<DictCell>();
  cell->items = std::move(items);
  cell->key = std::move(key);
  cell->value = std::move(value);
  return AbstractValue::of(std::move(cell));
}

// All attributes of one of the model's objects: what is changed later is then told from the rest.
void Values::load_attributes(ObjectCell& o) {
  if (!o.object) return;
  const AbstractValue s =
      AbstractValue::of(std::static_pointer_cast<ObjectCell>(o.shared_from_this()));
  for (const auto& a : o.type->getAttributes())
    if (!o.object->getAttr(a.getName()).isNone() || a.getType()->kind() != c10::TypeKind::NoneType)
      attribute(s, a.getName());
}

AbstractValue Values::attribute(const AbstractValue& s, const std::string& name) {
  if (!s.is(K::Object))
    ex_.site.refuse("OE4031", "attribute '" + name + "' is read of a value that is not an object");
  auto& attributes = s.object()->attributes;
  auto it = attributes.find(name);
  if (it != attributes.end()) return it->second;
  if (auto slot = s.object()->type->findAttributeSlot(name); slot && s.object()->object) {
    const std::string path = s.object()->path.empty() ? name : s.object()->path + "." + name;
    return attributes[name] = constant(s.object()->object->getSlot(*slot), path);
  }
  if (s.object()->type->hasConstant(name))
    return attributes[name] = constant(s.object()->type->getConstant(name), name);
  ex_.site.refuse("OE4032", "attribute '" + name + "' is read before it is set");
}

}  // namespace oe::capture
