// The model's own state: which of its attributes the run has left otherwise than it found them.
#include <ATen/core/Dict.h>
#include <ATen/core/List.h>

#include <algorithm>
#include <set>

#include "lib/capture/executor.h"

namespace oe::capture {

// Whether `now` is still what the model had: the same tensor with the same content, equal numbers.
bool Values::as_saved(const Sym& now, const c10::IValue& saved) {
  auto all = [&](const std::vector<Sym>& items, const auto& originals) {
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
  if (saved.isObject()) return true;  // has attributes of its own
  if (!saved.isInt() && !saved.isDouble() && !saved.isBool() && !saved.isString()) return true;
  return equal_constants(now, constant(saved, ""));
}

// Attributes by their state_dict names, in the order of the names.
std::vector<std::pair<std::string, Sym>> Values::written_state() {
  std::vector<std::pair<std::string, Sym>> out;
  for (const auto& cell : model_objects_) {
    const c10::ivalue::Object& object = *cell->object;
    for (size_t i = 0; i < object.slots().size(); ++i) {
      const std::string& name = cell->type->getAttributeName(i);
      auto now = cell->attributes.find(name);  // not there: never looked at
      if (now != cell->attributes.end() && !as_saved(now->second, object.getSlot(i)))
        out.emplace_back(cell->path.empty() ? name : cell->path + "." + name, now->second);
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  return out;
}

}  // namespace oe::capture
