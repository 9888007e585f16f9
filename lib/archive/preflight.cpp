#include "lib/archive/preflight.h"

#include <unordered_set>

#include "lib/archive/extent.h"
#include "lib/archive/model_json.h"
#include "lib/archive/pickle.h"
#include "lib/archive/stored.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

constexpr const char* kTracedInputs = "traced_inputs";

bool known_global(const std::string& name) {
  for (const char* prefix : {"__torch__.", "torch.", "collections.", "builtins.", "__builtin__."})
    if (name.starts_with(prefix)) return true;
  return name == "__main__.TensorID" || name == "__main__.IntList";  // PyTorch 1.1
}

class Checker {
 public:
  Checker(const Archive& archive, const Record& record, std::string storages)
      : archive_(archive), record_(record), storages_(std::move(storages)) {}

  void run() {
    try {
      visit(read_pickle(archive_.read(record_)));
    } catch (const Malformed& e) {
      fail(e.what());
    } catch (const BadPickle& e) {
      fail(e.what(), " (at byte " + std::to_string(e.offset) + " of it)");
    }
  }

 private:
  [[noreturn]] void fail(const std::string& what, const std::string& where = "") const {
    throw Failure(
        ExitCode::Refused, "OE0115",
        safe_line(archive_.path().string() + ": record " + record_.name + where + " " + what),
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
      if (makes_tensor(*c)) check_tensor(*c);
    }
  }

  void check_storage(const Persistent& p) const {
    const StoredStorage s = storage_of(p);
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

  void check_tensor(const Called& call) const {
    const StoredTensor t = tensor_of(call);
    if (!lies_within(t.offset, t.sizes, t.strides, static_cast<uint64_t>(t.storage.elements)))
      fail("makes a tensor that reaches beyond its storage " + t.storage.key);
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
