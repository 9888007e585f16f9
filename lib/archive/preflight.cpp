#include "lib/archive/preflight.h"

#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "lib/archive/extent.h"
#include "lib/archive/model_json.h"
#include "lib/archive/pickle.h"
#include "lib/support/diagnostics.h"

namespace oe::archive {
namespace {

constexpr const char* kTracedInputs = "traced_inputs";

// Bytes of an element of a storage class; 0 where there is no such class.
uint64_t element_size(std::string_view storage) {
  static const std::unordered_map<std::string_view, uint64_t> sizes = {{"Bool", 1},
                                                                       {"Byte", 1},
                                                                       {"Char", 1},
                                                                       {"QInt8", 1},
                                                                       {"QUInt8", 1},
                                                                       {"QUInt4x2", 1},
                                                                       {"QUInt2x4", 1},
                                                                       {"Untyped", 1},
                                                                       {"Float8_e5m2", 1},
                                                                       {"Float8_e4m3fn", 1},
                                                                       {"Float8_e5m2fnuz", 1},
                                                                       {"Float8_e4m3fnuz", 1},
                                                                       {"Short", 2},
                                                                       {"UInt16", 2},
                                                                       {"Half", 2},
                                                                       {"BFloat16", 2},
                                                                       {"Int", 4},
                                                                       {"UInt32", 4},
                                                                       {"Float", 4},
                                                                       {"QInt32", 4},
                                                                       {"ComplexHalf", 4},
                                                                       {"Long", 8},
                                                                       {"UInt64", 8},
                                                                       {"Double", 8},
                                                                       {"ComplexFloat", 8},
                                                                       {"ComplexDouble", 16}};
  constexpr std::string_view before = "torch.", after = "Storage";
  if (!storage.starts_with(before) || !storage.ends_with(after)) return 0;
  storage.remove_prefix(before.size());
  storage.remove_suffix(after.size());
  const auto it = sizes.find(storage);
  return it == sizes.end() ? 0 : it->second;
}

bool known_global(const std::string& name) {
  for (const char* prefix : {"__torch__.", "torch.", "collections.", "builtins.", "__builtin__."})
    if (name.starts_with(prefix)) return true;
  return name == "__main__.TensorID" || name == "__main__.IntList";  // PyTorch 1.1
}

const Global* global_of(const ValuePtr& v) { return v ? v->as<Global>() : nullptr; }

class Checker {
 public:
  Checker(const Archive& archive, const Record& record, std::string storages)
      : archive_(archive), record_(record), storages_(std::move(storages)) {}

  void run() {
    try {
      visit(read_pickle(archive_.read(record_)));
    } catch (const BadPickle& e) {
      fail(e.what(), " (at byte " + std::to_string(e.offset) + " of it)");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& where = "") const {
    throw Failure(ExitCode::Refused, "OE0115",
                  archive_.path().string() + ": record " + record_.name + where + " " + what,
                  "copy the file again, or save it again");
  }

  // Every value once, however often it is referred to.
  void visit(const ValuePtr& v) {
    if (!v || !seen_.insert(v.get()).second) return;
    if (const auto* g = v->as<Global>(); g && !known_global(g->name))
      fail("names " + g->name + ", which is none of PyTorch's");
    if (const auto* p = v->as<Persistent>()) check_storage(*p);
    if (const auto* t = v->as<Tuple>())
      for (const ValuePtr& e : t->items) visit(e);
    if (const auto* l = v->as<List>())
      for (const ValuePtr& e : l->items) visit(e);
    if (const auto* d = v->as<Dict>())
      for (const auto& [key, value] : d->items) {
        visit(key);
        visit(value);
      }
    if (const auto* c = v->as<Called>()) {
      visit(c->callee);
      visit(c->arguments);
      visit(c->state);
      if (const Global* f = global_of(c->callee); f && f->name == "torch._utils._rebuild_tensor_v2")
        check_tensor(c->arguments->as<Tuple>());
    }
  }

  struct Storage {
    std::string key, type;
    int64_t elements = 0;
  };
  // ("storage", class, key, device, elements)
  Storage storage_of(const Persistent& p) const {
    const auto* id = p.id->as<Tuple>();
    if (!id || id->items.size() < 5) fail("refers to something that is no storage");
    const auto* kind = id->items[0]->as<std::string>();
    const Global* type = global_of(id->items[1]);
    const auto* key = id->items[2]->as<std::string>();
    const auto* elements = id->items[4]->as<int64_t>();
    if (!kind || *kind != "storage" || !type || !key || !elements || *elements < 0)
      fail("refers to something that is no storage");
    return {*key, type->name, *elements};
  }

  void check_storage(const Persistent& p) const {
    const Storage s = storage_of(p);
    const Record* r = archive_.find(storages_ + "/" + s.key);
    if (!r) fail("refers to the storage " + s.key + ", which has no record");
    if (r->deflated) fail("refers to the storage " + s.key + ", whose record is compressed");
    if (storages_ == kTracedInputs && r->size == 0) return;  // torch keeps their sizes alone
    const uint64_t size = element_size(s.type);
    if (size == 0) fail("refers to a storage of the unknown type " + s.type);
    if (static_cast<uint64_t>(s.elements) != r->size / size)
      fail("says that the storage " + s.key + " has " + std::to_string(s.elements) +
           " elements, but its record has " + std::to_string(r->size) + " bytes");
  }

  // (storage, offset, sizes, strides, ...)
  void check_tensor(const Tuple* given) const {
    if (!given || given->items.size() < 4) fail("makes a tensor of too little");
    const std::vector<ValuePtr>& arguments = given->items;
    const auto* storage = arguments[0]->as<Persistent>();
    const auto* offset = arguments[1]->as<int64_t>();
    const auto *sizes = arguments[2]->as<Tuple>(), *strides = arguments[3]->as<Tuple>();
    if (!storage || !offset || *offset < 0 || !sizes || !strides ||
        sizes->items.size() != strides->items.size())
      fail("makes a tensor of something else than a storage, an offset, sizes and strides");
    const Storage s = storage_of(*storage);
    std::vector<int64_t> size_numbers, stride_numbers;
    for (size_t i = 0; i < sizes->items.size(); ++i) {
      const auto *size = sizes->items[i]->as<int64_t>(), *stride = strides->items[i]->as<int64_t>();
      if (!size || !stride || *size < 0 || *stride < 0) fail("makes a tensor of a negative size");
      size_numbers.push_back(*size);
      stride_numbers.push_back(*stride);
    }
    if (!lies_within(*offset, size_numbers, stride_numbers, static_cast<uint64_t>(s.elements)))
      fail("makes a tensor that reaches beyond its storage " + s.key);
  }

  const Archive& archive_;
  const Record& record_;
  const std::string storages_;  // the folder of their records
  std::unordered_set<const Value*> seen_;
};

}  // namespace

void check_pickles(const Archive& archive) {
  for (const char* name : {"data", "constants", kTracedInputs, "attributes"})
    if (const Record* r = archive.find(std::string(name) + ".pkl"))
      Checker(archive, *r, name).run();
  read_legacy_model(archive);
}

}  // namespace oe::archive
