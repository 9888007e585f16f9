// The model's own state: which of its attributes the run has left otherwise than it found them.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <functional>
#include <set>

#include "lib/capture/executor.h"

namespace oe::capture {

// Whether `now` is still what the model had: the same tensor with the same content, equal numbers.
bool Values::as_saved(const AbstractValue& now, const c10::IValue& saved) {
  auto all = [&](const std::vector<AbstractValue>& items, const auto& originals) {
    if (items.size() != originals.size()) return false;
    for (size_t i = 0; i < items.size(); ++i)
      if (!as_saved(items[i], originals[i])) return false;
    return true;
  };
  if (saved.isTensor() && saved.toTensor().defined()) {
    auto it = wrapped_.find(saved.toTensor().unsafeGetTensorImpl());
    if (it == wrapped_.end()) return true;  // never looked at
    if (!now.is(K::Tensor) || now.tensor() != it->second.tensor() || now.tensor()->parent)
      return false;
    for (const ModelStorage& m : model_storages_)
      if (m.cell == now.tensor()->storage) return m.cell->version == m.version;
    return false;
  }
  if (saved.isList())
    return now.is(K::List) && !now.list()->is_open() &&
           all(now.list()->items, saved.toList().vec());
  if (saved.isTuple()) return now.is(K::Tuple) && all(now.tuple(), saved.toTupleRef().elements());
  if (saved.isGenericDict()) {
    const auto dict = saved.toGenericDict();
    if (!now.is(K::Dict) || now.dict()->items.size() != dict.size()) return false;
    for (const auto& [key, value] : now.dict()->items)
      if (!dict.contains(key.c.at(0)) || !as_saved(value, dict.at(key.c.at(0)))) return false;
    return true;
  }
  if (saved.isNone() || (saved.isTensor() && !saved.toTensor().defined())) return now.is(K::None);
  if (saved.isObject())  // has attributes of its own
    return now.is(K::Object) && now.object()->object == saved.toObject();
  if (!saved.isInt() && !saved.isDouble() && !saved.isBool() && !saved.isString()) return true;
  return equal_constants(now, constant(saved, ""));
}

namespace {

// The storages of all tensors in a value, and the lists and dicts.
void each_cell(const AbstractValue& s, const std::function<void(const std::shared_ptr<Cell>&)>& f) {
  if (s.is(K::Tensor)) f(s.tensor()->storage);
  if (s.is(K::List)) f(s.list());
  if (s.is(K::Dict)) f(s.dict());
  if (s.is(K::Tuple) || s.is(K::Maybe))
    for (const AbstractValue& item : s.tuple()) each_cell(item, f);
  if (s.is(K::List))
    for (const AbstractValue& item : s.list()->items) each_cell(item, f);
  if (s.is(K::Dict))
    for (const auto& [key, value] : s.dict()->items) each_cell(value, f);
}

}  // namespace

void Values::begin_with(const std::string& path, const AbstractValue& self, AbstractValue value) {
  AbstractValue owner = self;
  size_t begin = 0;
  for (size_t dot; (dot = path.find('.', begin)) != std::string::npos; begin = dot + 1)
    owner = attribute(owner, path.substr(begin, dot - begin));
  Begun b{path, owner.object(), path.substr(begin), value, {}};
  each_cell(value, [&](const auto& cell) {
    if (auto storage = std::dynamic_pointer_cast<StorageCell>(cell))
      b.storages.emplace_back(storage, storage->version);
  });
  owner.object()->attributes[b.name] = std::move(value);
  begun_.push_back(std::move(b));
}

void Values::note_write(const ObjectCell& o, const std::string& name) {
  if (o.object) writes_[{&o, name}] = ex_.site.here();
}

// Two attributes that are one object when the call ends are two inputs of the next one. That makes
// a difference where one of them is written in place, which what this call does tells: it is
// recorded for every input.
void Values::refuse_shared(const std::vector<State>& carried) const {
  std::set<std::string> in_place;
  for (const Begun& b : begun_)
    for (const auto& [storage, version] : b.storages)
      if (storage->version != version) in_place.insert(b.path);
  std::map<const Cell*, std::string> seen;
  for (const ModelStorage& m : model_storages_) seen.emplace(m.cell.get(), m.name);
  for (const auto& [identity, owned] : wrapped_)
    if (owned.is(K::List) || owned.is(K::Dict))
      each_cell(owned, [&](const auto& cell) { seen.emplace(cell.get(), "another attribute"); });
  for (const State& s : carried)
    each_cell(s.value, [&](const std::shared_ptr<Cell>& cell) {
      const bool container = !dynamic_cast<const StorageCell*>(cell.get());
      for (const std::shared_ptr<Cell>& other : near(*cell)) {
        const auto [at, fresh] = seen.try_emplace(other.get(), s.path);
        if (fresh || !(container || in_place.contains(s.path) || in_place.contains(at->second)))
          continue;
        throw Failure(ExitCode::Unsupported, "OE2302",
                      "--state=io: '" + s.path + "' and '" + at->second +
                          "' may share memory after the call, and the model writes into it",
                      "store a copy: clone()", s.origin);
      }
    });
}

std::vector<Values::State> Values::persistent_state() {
  std::vector<State> out;
  for (const Begun& b : begun_)
    out.push_back({b.path, b.owner->attributes.at(b.name), last_write(*b.owner, b.name)});
  refuse_shared(out);
  return out;
}

OriginPtr Values::last_write(const ObjectCell& o, const std::string& name) const {
  const auto at = writes_.find({&o, name});
  return at == writes_.end() ? nullptr : at->second;
}

// None stays what no output can be.
bool Values::was_set(const ObjectCell& o, const std::string& name, const AbstractValue& now) const {
  bool set = writes_.contains({&o, name}) && !now.is(K::None);
  each_cell(now, [&](const auto& cell) { set = set || ex_.heap.changed(*cell); });
  return set;
}

std::vector<OriginPtr> Values::written_constants() const {
  std::vector<OriginPtr> out;
  for (const ModelStorage& m : model_storages_)
    if (m.in_code && m.cell->version != m.version) out.push_back(m.in_code);
  return out;
}

std::vector<Values::State> Values::written_state(bool only_other) {
  std::vector<State> out;
  const auto is_input = [&](const ObjectCell* owner, const std::string& name) {
    return std::ranges::any_of(
        begun_, [&](const Begun& b) { return b.owner.get() == owner && b.name == name; });
  };
  for (const auto& cell : model_objects_) {
    const c10::ivalue::Object& object = *cell->object;
    for (size_t i = 0; i < object.slots().size(); ++i) {
      const std::string& name = cell->type->getAttributeName(i);
      auto now = cell->attributes.find(name);  // not there: never looked at
      if (now == cell->attributes.end() || is_input(cell.get(), name)) continue;
      if (as_saved(now->second, object.getSlot(i)) &&
          (only_other || !was_set(*cell, name, now->second)))
        continue;
      out.push_back({cell->path.empty() ? name : cell->path + "." + name, now->second,
                     last_write(*cell, name)});
    }
  }
  std::ranges::sort(out, {}, &State::path);
  return out;
}

}  // namespace oe::capture
