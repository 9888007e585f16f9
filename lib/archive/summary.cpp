#include "lib/archive/summary.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/archive/model_json.h"
#include "lib/archive/preflight.h"
#include "lib/archive/source.h"
#include "lib/archive/stored.h"
#include "lib/support/dtype.h"

namespace oe::archive {
namespace {

std::string join(const std::string& path, const std::string& name) {
  return path.empty() ? name : path + "." + name;
}

bool holds(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

uint64_t count(const std::vector<int64_t>& sizes) {
  uint64_t n = 1;
  for (const int64_t d : sizes) n *= static_cast<uint64_t>(d);
  return n;
}

class Writer {
 public:
  explicit Writer(const Archive& a) : archive_(a) {}

  Summary run() {
    s_.version = archive_.version();
    for (const Record& r : archive_.records()) {
      if (r.name.starts_with("extra/")) s_.extra.push_back(r.name.substr(6));
      if (r.name.starts_with("code/") && r.name.ends_with(".py")) read_code(r);
    }
    if (const auto legacy = read_legacy_model(archive_)) {
      s_.writer = "PyTorch " + legacy->producer;
      legacy_module(*legacy, legacy->main, "");
    } else if (const Record* r = archive_.find("data.pkl")) {
      const ValuePtr data = read_pickle(archive_.read(*r));
      value(data, "", nullptr);
    }
    std::unordered_set<std::string> records;
    for (const Summary::Tensor& t : s_.tensors) {
      s_.devices.insert(t.device);
      const Record* r = archive_.find(t.storage);
      if (r && records.insert(t.storage).second) s_.tensor_bytes += r->size;
    }
    return std::move(s_);
  }

 private:
  void read_code(const Record& r) {
    const std::string code = archive_.read(r);
    count_operators(code, s_);
    std::string qualifier = r.name.substr(5, r.name.size() - 8);  // without code/ and .py
    std::ranges::replace(qualifier, '/', '.');
    for (auto& [name, c] : outline(code)) {
      c.code = r.name;
      classes_[name.empty() ? r.name : qualifier + "." + name] = std::move(c);
    }
  }

  // --- PyTorch 1.4 and later
  // `owner`: the class of the module whose attribute it is.
  void value(const ValuePtr& v, const std::string& path, const ClassOutline* owner) {
    const auto* call = v->as<Called>();
    if (call && makes_tensor(*call)) return tensor(tensor_of(*call), path, owner);
    if (!seen_.insert(v.get()).second) return;  // what is shared is told once, where it comes first
    if (call) {
      const auto* type = call->callee->as<Global>();
      if (type && type->name.starts_with("__torch__.") && call->state)
        return object(type->name, call->state, path);
      return value(call->arguments, path, owner);  // a function that gives its argument a type
    }
    size_t i = 0;
    if (const auto* list = v->as<List>())
      for (const ValuePtr& item : list->items) value(item, join(path, std::to_string(i++)), owner);
    if (const auto* tuple = v->as<Tuple>())
      for (const ValuePtr& item : tuple->items) value(item, join(path, std::to_string(i++)), owner);
    if (const auto* dict = v->as<Dict>())
      for (const auto& [key, item] : dict->items) {
        const auto* name = key->as<std::string>();
        value(item, join(path, name ? *name : std::to_string(i)), owner);
        ++i;
      }
  }

  void object(const std::string& type, const ValuePtr& state, const std::string& path) {
    const auto known = classes_.find(type);
    const ClassOutline* c = known == classes_.end() ? nullptr : &known->second;
    const auto* slots = state->as<Dict>();
    if (!c || !c->module) return value(state, path, nullptr);
    Summary::Module m{path, type, c->code, std::nullopt};
    for (size_t i = 0; slots && i < slots->items.size(); ++i) {
      const auto* name = slots->items[i].first->as<std::string>();
      const auto* flag = slots->items[i].second->as<bool>();
      if (name && *name == "training" && flag) m.training = *flag;
    }
    if (path.empty()) s_.methods = c->methods;
    s_.modules.push_back(std::move(m));
    value(state, path, c);
  }

  void tensor(const StoredTensor& t, const std::string& path, const ClassOutline* owner) {
    const std::string name = path.substr(path.rfind('.') + 1);
    Summary::Tensor made;
    made.path = path;
    if (owner && holds(owner->parameters, name)) made.kind = Summary::Kind::Parameter;
    if (owner && holds(owner->buffers, name)) made.kind = Summary::Kind::Buffer;
    made.type = element_type(t.storage.type);
    made.sizes = t.sizes;
    made.bytes = count(t.sizes) * element_size(t.storage.type);
    made.storage = "data/" + t.storage.key;
    made.device = t.storage.device;
    s_.tensors.push_back(std::move(made));
  }

  // --- PyTorch 1.0 to 1.2
  void legacy_module(const LegacyModel& all, const LegacyModule& def, const std::string& path) {
    s_.modules.push_back({path, "", def.code, std::nullopt});
    if (path.empty()) s_.methods = classes_[def.code].methods;
    for (const LegacyModule::Parameter& p : def.parameters) {
      const LegacyTensor& t = all.tensors[p.tensor];
      s_.tensors.push_back({join(path, p.name),
                            p.is_buffer ? Summary::Kind::Buffer : Summary::Kind::Parameter,
                            std::string(name(t.dtype)), t.sizes,
                            count(t.sizes) * byte_size(t.dtype), t.record, t.device});
    }
    for (const LegacyModule& m : def.submodules) legacy_module(all, m, join(path, m.name));
  }

  const Archive& archive_;
  Summary s_;
  std::unordered_set<const Value*> seen_;
  std::unordered_map<std::string, ClassOutline> classes_;  // by their whole name; or the record
};

}  // namespace

Summary summarise(const Archive& archive) {
  check_pickles(archive);  // what follows takes them as they should be
  return Writer(archive).run();
}

}  // namespace oe::archive
