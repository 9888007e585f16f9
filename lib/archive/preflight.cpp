#include "lib/archive/preflight.h"

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "lib/archive/model_json.h"
#include "lib/archive/sparse.h"
#include "lib/archive/stored.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

constexpr const char* kTracedInputs = "traced_inputs";
constexpr std::string_view kOwn = "__torch__.", kOfLibraries = "__torch__.torch.classes.";

// What LibTorch's unpickler calls with a tuple. Others that it knows come from no TorchScript file:
// references to other machines, tensors of Python's subclasses.
bool is_function(std::string_view name) {
  constexpr std::string_view known[] = {"torch._utils._rebuild_tensor_v2",
                                        "torch._utils._rebuild_qtensor",
                                        "torch._utils._rebuild_sparse_tensor",
                                        "torch.jit._pickle.build_boollist",
                                        "torch.jit._pickle.build_doublelist",
                                        "torch.jit._pickle.build_intlist",
                                        "torch.jit._pickle.build_tensorlist",
                                        "torch.jit._pickle.build_tensor_from_id",
                                        "torch.jit._pickle.restore_type_tag",
                                        "torch.device",
                                        "builtins.complex",
                                        "__builtin__.complex",
                                        "collections.OrderedDict"};
  return std::ranges::find(known, name) != std::end(known);
}

// PyTorch 1.1: a state is set on them.
bool is_old_class(std::string_view name) {
  return name == "__main__.TensorID" || name == "__main__.IntList";
}

// Names that need no call: element types and schemes of quantization.
bool is_constant(std::string_view name) {
  return element_size(name) > 0 || name == "torch.per_tensor_affine" ||
         name == "torch.per_channel_affine" || name == "torch.per_channel_affine_float_qparams" ||
         name == "torch.per_tensor_symmetric" || name == "torch.per_channel_symmetric";
}

class Checker {
 public:
  Checker(const Archive& archive, const std::string& storages)
      : archive_(archive), storages_(storages) {}

  // Every value once, however often it is referred to.
  void visit(const ValuePtr& v) {
    if (!v || !seen_.insert(v.get()).second) return;
    if (const auto* g = v->as<Global>()) check_name(g->name);
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
      check_call(*c);
    }
  }
  uint64_t tensor_bytes() const { return tensor_bytes_; }  // of all, as if none shared any
  bool has_objects() const { return has_objects_; }

 private:
  static void check_name(const std::string& name) {
    if (!name.starts_with(kOwn) && !is_function(name) && !is_old_class(name) && !is_constant(name))
      throw Malformed("names " + name + ", which no TorchScript file does");
  }

  void check_call(const Called& call) {
    const std::string& name = call.callee->as<Global>()->name;
    const auto* given = call.arguments->as<Tuple>();
    if (name.starts_with(kOwn)) {
      has_objects_ = true;
      if (call.creates && !call.state) throw Malformed("makes a " + name + " without a state");
    } else if (!is_old_class(name)) {
      if (!is_function(name) || call.creates || call.state || !given)
        throw Malformed("calls " + name + " in a way that PyTorch does not");
    }
    if (makes_tensor(call)) check_tensor(call);
    if (makes_sparse_tensor(call)) check_sparse_tensor(call);
    if (name == "torch.jit._pickle.restore_type_tag") check_type_tag(*given);
    if (name.starts_with("torch.jit._pickle.build_")) check_list(name, *given);
  }

  void check_storage(const Persistent& p) const {
    const StoredStorage s = storage_of(p);
    const Record* r = archive_.find(storages_ + "/" + s.key);
    if (!r) throw Malformed("refers to the storage " + s.key + ", which has no record");
    if (r->deflated)
      throw Malformed("refers to the storage " + s.key + ", whose record is compressed");
    const uint64_t size = element_size(s.type);
    if (size == 0) throw Malformed("refers to a storage of the unknown type " + s.type);
    if (keeps_sizes_alone(*r)) return;
    if (static_cast<uint64_t>(s.elements) != r->size / size)
      throw Malformed("declares that the storage " + s.key + " has " + std::to_string(s.elements) +
                      " elements, but its record has " + std::to_string(r->size) + " bytes");
  }

  void check_tensor(const Called& call) {
    const StoredTensor t = tensor_of(call);
    uint64_t bytes = element_size(t.storage.type);
    for (const int64_t n : t.sizes) bytes *= static_cast<uint64_t>(n);  // fits: tensor_of()
    tensor_bytes_ = std::min(UINT64_MAX - bytes, tensor_bytes_) + bytes;
    if (!lies_within_storage(t))
      throw Malformed("makes a tensor that reaches beyond its storage " + t.storage.key);
    // The dict of bits: {"conj": True}
    const std::vector<ValuePtr>& given = call.arguments->as<Tuple>()->items;
    const auto* bits = given.size() >= 7 ? given[6]->as<Dict>() : nullptr;
    for (size_t i = 0; bits && i < bits->items.size(); ++i) {
      const auto* bit = bits->items[i].first->as<std::string>();
      const bool complex = element_type(t.storage.type).starts_with("complex");
      if (!bit || (*bit != "neg" && *bit != "conj") || !bits->items[i].second->as<bool>() ||
          (*bit == "conj" && !complex))
        throw Malformed("makes a tensor with a property that it cannot have");
    }
  }

  void check_sparse_tensor(const Called& call) const {
    const StoredSparse s = sparse_of(call);
    const Record* indices = archive_.find(storages_ + "/" + s.indices[0].storage.key);
    if (!indices || !keeps_sizes_alone(*indices)) check_sparse(archive_, storages_, s);
  }

  // (value, type)
  static void check_type_tag(const Tuple& given) {
    const auto* type = given.items.size() == 2 ? given.items[1]->as<std::string>() : nullptr;
    const auto* called = type ? given.items[0]->as<Called>() : nullptr;
    if (!type || (!called && !given.items[0]->as<List>() && !given.items[0]->as<Dict>()))
      throw Malformed("sets the type of a value that is not a list or dict");
    if (!is_plain_type(*type)) throw Malformed("has a type that nests too deep");
  }

  // A list that is to be of one type of elements.
  static void check_list(std::string_view function, const Tuple& given) {
    if (function.ends_with("_tensor_from_id")) return;
    const auto* list = given.items.empty() ? nullptr : given.items[0]->as<List>();
    const bool fits = list && std::ranges::all_of(list->items, [&](const ValuePtr& v) {
                        return function.ends_with("_intlist")      ? v->as<int64_t>() != nullptr
                               : function.ends_with("_doublelist") ? v->as<double>() != nullptr
                               : function.ends_with("_boollist")   ? v->as<bool>() != nullptr
                                                                   : v->as<Called>() != nullptr;
                      });
    if (!fits) throw Malformed("makes a list of elements of another type");
  }

  // Of a trace's inputs PyTorch keeps the sizes, and records of no bytes.
  bool keeps_sizes_alone(const Record& r) const {
    return storages_ == kTracedInputs && r.size == 0;
  }

  const Archive& archive_;
  const std::string& storages_;  // the folder of their records
  std::unordered_set<const Value*> seen_;
  uint64_t tensor_bytes_ = 0;
  bool has_objects_ = false;
};

// Everything that LibTorch does with a module trusts that it is one.
void require_module(const ValuePtr& data) {
  const auto* object = data->as<Called>();
  const std::string name = object ? object->callee->as<Global>()->name : "";
  if (!name.starts_with(kOwn) || name.starts_with(kOfLibraries) || !object->state)
    throw Malformed("has " + (name.empty() ? std::string("a plain value") : "a " + name) +
                    " instead of a module");
}

template <class F>
void check_record(const Archive& archive, const Record& r, const F& check) {
  const auto fail = [&](const std::string& what, const std::string& where = "") {
    throw Failure(ExitCode::Refused, "OE0115",
                  safe_line(archive.path().string() + ": record " + r.name + where + " " + what),
                  "copy the file again, or save it again");
  };
  try {
    check();
  } catch (const Malformed& e) {
    fail(e.what());
  } catch (const BadPickle& e) {
    fail(e.what(), " (at byte " + std::to_string(e.offset) + " of it)");
  }
}

}  // namespace

void check_pickles(const Archive& archive) {
  for (const char* name : {"data", "constants", kTracedInputs, "attributes"}) {
    const std::string folder(name);
    const Record* r = archive.find(folder + ".pkl");
    if (!r) continue;
    check_record(archive, *r, [&] {
      const ValuePtr value = read_pickle(archive.read(*r));
      Checker(archive, folder).visit(value);
      if (folder == "data") require_module(value);
    });
  }
  read_legacy_model(archive);
}

void check_saved_values(const Archive& archive) {
  constexpr uint64_t kMostBytes = 256 << 20, kMostTimes = 16;
  const std::string folder = "data";
  const Record* r = archive.find("data.pkl");
  if (!r)
    throw Failure(ExitCode::Refused, "OE0115",
                  safe_line(archive.path().string()) + ": has no data.pkl");
  check_record(archive, *r, [&] {
    Checker checker(archive, folder);
    checker.visit(read_pickle(archive.read(*r, /*compare=*/r->crc != 0)));
    if (checker.has_objects()) throw Malformed("contains objects of classes, not plain values");
    if (checker.tensor_bytes() > std::max(kMostBytes, kMostTimes * archive.file().size()))
      throw Malformed("has tensors of " + std::to_string(checker.tensor_bytes() >> 20) +
                      " MiB in a file of far less");
  });
}

}  // namespace oe::archive
