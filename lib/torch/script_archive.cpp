// Code is compiled by LibTorch (SourceImporter asks for it file by file, as types are named), and
// objects are made by its unpickler; where the code and the storages come from is ours.
#include "lib/torch/script_archive.h"

#include <c10/core/CPUAllocator.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/operator_upgraders/upgraders_entry.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/import_source.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "lib/torch/source_lines.h"

namespace oe::torch_io {
namespace {

using torch::jit::CompilationUnit;
using torch::jit::Source;

// Storages lie at multiples of this in files that PyTorch wrote; kernels may rely on it.
constexpr size_t kAlignment = 64;

// Files before version 3 do not say of what their lists and dicts are; whoever takes them does.
void set_element_types(const c10::IValue& v, const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    if (!v.isNone()) set_element_types(v, optional->getElementType());
  } else if (const auto tuple = type->cast<c10::TupleType>(); tuple && v.isTuple()) {
    const auto& items = v.toTupleRef().elements();
    for (size_t i = 0; i < std::min(items.size(), tuple->elements().size()); ++i)
      set_element_types(items[i], tuple->elements()[i]);
  } else if (const auto list = type->cast<c10::ListType>(); list && v.isList()) {
    v.toList().unsafeSetElementType(list->getElementType());
    for (const c10::IValue& item : v.toListRef()) set_element_types(item, list->getElementType());
  } else if (const auto dict = type->cast<c10::DictType>(); dict && v.isGenericDict()) {
    auto d = v.toGenericDict();
    d.unsafeSetKeyType(dict->getKeyType());
    d.unsafeSetValueType(dict->getValueType());
    for (const auto& entry : d) {
      set_element_types(entry.key(), dict->getKeyType());
      set_element_types(entry.value(), dict->getValueType());
    }
  }
}

void check_slots(const c10::ivalue::Object& object) {
  const auto& type = object.type();
  for (size_t i = 0; i < type->numAttributes(); ++i)
    TORCH_CHECK(!object.getSlot(i).isNone() ||
                    type->getAttribute(i)->kind() == c10::TypeKind::OptionalType ||
                    type->getAttribute(i)->kind() == c10::TypeKind::NoneType,
                "__setstate__ of ", type->repr_str(), " left '", type->getAttributeName(i),
                "' without a value");
}

// The quantized convolutions of PyTorch 1.5 and before repeat what their packed weights hold.
void shorten_quantized_convolutions(torch::jit::Block* b) {
  static const std::unordered_set<std::string> names = {
      "quantized::conv2d", "quantized::conv2d_relu", "quantized::conv3d", "quantized::conv3d_relu"};
  for (torch::jit::Node* n : b->nodes()) {
    for (torch::jit::Block* inner : n->blocks()) shorten_quantized_convolutions(inner);
    if (n->inputs().size() != 8 || !names.contains(n->kind().toQualString())) continue;
    for (size_t i = 6; i-- > 2;) n->removeInput(i);
  }
}

}  // namespace

struct ScriptArchive::Reader {
  explicit Reader(const archive::Archive& a)
      : archive(a),
        version(a.version()),
        file(std::make_shared<MappedFile>(a.file())),
        unit(std::make_shared<CompilationUnit>()),
        importer(
            unit, &constants, [this](const std::string& qualifier) { return code(qualifier); },
            version) {}

  std::shared_ptr<Source> code(const std::string& qualifier) {
    std::string name = "code/" + qualifier + ".py";
    std::ranges::replace(name.begin() + 5, name.end() - 3, '.', '/');
    const archive::Record* r = archive.find(name);
    if (!r) return nullptr;
    const archive::Record* lines = archive.find(name + ".debug_pkl");
    return std::make_shared<Source>(archive.read(*r), name, 1,
                                    lines ? source_lines(archive.read(*lines)) : nullptr);
  }

  at::DataPtr storage(const std::string& name) {
    const archive::Record* r = archive.find(name);
    TORCH_CHECK(r && !r->deflated, "there is no record ", name);
    if (r->size == 0) return {nullptr, c10::Device(c10::kCPU)};  // of a trace's inputs
    // Storages that are one share one mention; two mentions are two storages of the same bytes.
    const bool first = mapped.insert(name).second;
    if (first && r->offset % kAlignment == 0)
      return {file->data() + r->offset, new std::shared_ptr<MappedFile>(file),
              [](void* owner) { delete static_cast<std::shared_ptr<MappedFile>*>(owner); },
              c10::Device(c10::kCPU)};
    at::DataPtr copy = c10::GetCPUAllocator()->allocate(r->size);
    std::memcpy(copy.mutable_get(), file->data() + r->offset, r->size);
    return copy;
  }

  c10::intrusive_ptr<c10::ivalue::Object> object(const c10::StrongTypePtr& type,
                                                 const c10::IValue& state) {
    const auto cls = type.type_->expect<c10::ClassType>();
    auto made = c10::ivalue::Object::create(type, cls->numAttributes());
    if (cls->findMethod("__getstate__") && cls->findMethod("__setstate__")) {
      // Not optimised: slots have no values yet that one could specialise for.
      const torch::jit::GraphOptimizerEnabledGuard plain(false);
      torch::jit::Function& set = cls->getMethod("__setstate__");
      set_element_types(state, set.getSchema().arguments().at(1).type());
      set({made, state});
      check_slots(*made);
    } else {
      const auto slots = state.toGenericDict();
      for (size_t i = 0; i < cls->numAttributes(); ++i)
        made->setSlot(i, slots.at(cls->getAttributeName(i)));
    }
    return made;
  }

  c10::IValue unpickle(const std::string& name) {
    const archive::Record* r = archive.find(name + ".pkl");
    TORCH_CHECK(r, "there is no record ", name, ".pkl");
    const std::string bytes = archive.read(*r);
    size_t at = 0;
    torch::jit::Unpickler unpickler(
        [&](char* to, size_t size) {
          const size_t taken = bytes.copy(to, size, at);
          at += taken;
          return taken;
        },
        [this](const c10::QualifiedName& type) {
          return c10::StrongTypePtr(unit, importer.loadType(type));
        },
        [this](const c10::StrongTypePtr& type, const c10::IValue& state) {
          return object(type, state);
        },
        [&](const std::string& key) { return storage(name + "/" + key); }, std::nullopt,
        /*use_storage_device=*/true);
    unpickler.set_version(version);
    return unpickler.parse_ivalue();
  }

  const archive::Archive& archive;
  uint64_t version;
  std::shared_ptr<MappedFile> file;
  std::shared_ptr<CompilationUnit> unit;
  std::vector<c10::IValue> constants;  // what the code calls CONSTANTS.c0, ...
  torch::jit::SourceImporter importer;
  std::unordered_set<std::string> mapped;
};

ScriptArchive::ScriptArchive(const archive::Archive& a) : reader_(std::make_unique<Reader>(a)) {
  // The importer asks for the upgraders of older operators, and does not make them.
  torch::jit::populate_upgraders_graph_map();
}

ScriptArchive::~ScriptArchive() = default;

torch::jit::Module ScriptArchive::module() {
  const c10::IValue constants = reader_->unpickle("constants");
  reader_->constants = constants.toTupleRef().elements().vec();
  torch::jit::Module m(reader_->unpickle("data").toObject());
  for (torch::jit::Function* f : reader_->unit->get_functions())
    if (auto* g = torch::jit::tryToGraphFunction(*f))
      shorten_quantized_convolutions(g->graph()->block());
  return m;
}

c10::IValue ScriptArchive::unpickle(const std::string& name) {
  return reader_->archive.find(name + ".pkl") ? reader_->unpickle(name) : c10::IValue();
}

}  // namespace oe::torch_io
