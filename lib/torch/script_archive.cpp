// Code is compiled by LibTorch (SourceImporter asks for it file by file, as types are named), and
// objects are made by its unpickler; where the code and the storages come from is ours.
#include "lib/torch/script_archive.h"

#include <c10/core/CPUAllocator.h>
#include <torch/csrc/jit/api/function_impl.h>
#include <torch/csrc/jit/ir/ir.h>
#include <torch/csrc/jit/operator_upgraders/upgraders_entry.h>
#include <torch/csrc/jit/runtime/graph_executor.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cstring>
#include <unordered_set>

#include "lib/archive/model_json.h"
#include "lib/torch/archive_reader.h"
#include "lib/torch/source_lines.h"
#include "lib/torch/stand_ins.h"
#include "lib/torch/value_types.h"

namespace oe::torch_io {
namespace {

using torch::jit::CompilationUnit;
using torch::jit::Source;

// Storages lie at multiples of this in files that PyTorch wrote; kernels may rely on it.
constexpr size_t kAlignment = 64;

c10::intrusive_ptr<c10::ivalue::Object> stand_in_object(const c10::ClassTypePtr& type,
                                                        const c10::IValue& state) {
  // Without a compilation unit, as LibTorch wants constants to be.
  auto made = c10::ivalue::Object::create(c10::StrongTypePtr(nullptr, type), type->numAttributes());
  if (type->numAttributes() == 1) {
    made->setSlot(0, state);
    return made;
  }
  const auto& slots = state.toTupleRef().elements();
  TORCH_CHECK(slots.size() == type->numAttributes(), "an object of ", type->repr_str(), " has ",
              slots.size(), " values instead of ", type->numAttributes());
  for (size_t i = 0; i < slots.size(); ++i) {
    TORCH_CHECK(slots[i].type()->isSubtypeOf(*type->getAttribute(i)), "an object of ",
                type->repr_str(), " has another value as ", type->getAttributeName(i));
    made->setSlot(i, slots[i]);
  }
  return made;
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

void check_slots(const c10::ivalue::Object& object) {
  const auto& type = object.type();
  for (size_t i = 0; i < type->numAttributes(); ++i)
    TORCH_CHECK(!object.getSlot(i).isNone() ||
                    type->getAttribute(i)->kind() == c10::TypeKind::OptionalType ||
                    type->getAttribute(i)->kind() == c10::TypeKind::NoneType,
                "__setstate__ of ", type->repr_str(), " left '", type->getAttributeName(i),
                "' without a value");
}

}  // namespace

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

void set_state(const c10::intrusive_ptr<c10::ivalue::Object>& object, const c10::IValue& state,
               const std::string& file) {
  // Not optimised: slots have no values yet that one could specialise for.
  const torch::jit::GraphOptimizerEnabledGuard plain(false);
  torch::jit::Function& set = object->type()->getMethod("__setstate__");
  const auto& arguments = set.getSchema().arguments();
  torch::jit::Stack stack{object};
  if (arguments.size() > 1) {
    set_element_types(state, arguments[1].type());
    require_type(state, *arguments[1].type(), file,
                 "the state of " + object->type()->annotation_str());
    stack.push_back(state);
  }
  set(std::move(stack));
  check_slots(*object);
}

ArchiveReader::ArchiveReader(const archive::Archive& a)
    : archive(a),
      version(a.version()),
      file(std::make_shared<MappedFile>(a.file())),
      unit(std::make_shared<CompilationUnit>()),
      importer(
          unit, &constants, [this](const std::string& qualifier) { return code(qualifier); },
          version),
      check_(a.path().string()) {
  // The importer asks for the upgraders of older operators, and does not make them.
  torch::jit::populate_upgraders_graph_map();
}

std::shared_ptr<Source> ArchiveReader::source(const std::string& record,
                                              const std::string& lines) const {
  const archive::Record *code = archive.find(record), *pickle = archive.find(lines);
  if (!code) return nullptr;
  return std::make_shared<Source>(archive.read(*code), record, 1,
                                  pickle ? source_lines(archive.read(*pickle)) : nullptr);
}

std::shared_ptr<Source> ArchiveReader::code(const std::string& qualifier) const {
  std::string path = qualifier;
  std::ranges::replace(path, '.', '/');
  path = code_folder + path + ".py";
  return source(path, path + ".debug_pkl");
}

at::DataPtr ArchiveReader::storage(const std::string& record) {
  const archive::Record* r = archive.find(record);
  TORCH_CHECK(r && !r->deflated, "there is no record ", record);
  if (r->size == 0) return {nullptr, c10::Device(c10::kCPU)};  // of a trace's inputs
  // Storages that are one share one mention; two mentions are two storages of the same bytes.
  const bool first = mapped_.insert(record).second;
  if (first && r->offset % kAlignment == 0)
    return {file->data() + r->offset, new std::shared_ptr<MappedFile>(file),
            [](void* owner) { delete static_cast<std::shared_ptr<MappedFile>*>(owner); },
            c10::Device(c10::kCPU)};
  at::DataPtr copy = c10::GetCPUAllocator()->allocate(r->size);
  std::memcpy(copy.mutable_get(), file->data() + r->offset, r->size);
  return copy;
}

c10::StrongTypePtr ArchiveReader::type(const c10::QualifiedName& name) {
  const c10::TypePtr type = importer.loadType(name);
  check_.check(*unit, type);
  return {unit, type};
}

void ArchiveReader::import_methods(const torch::jit::Module& m,
                                   const std::shared_ptr<Source>& code) {
  importer.LEGACY_import_methods(m, code);
  check_.check(*unit, m.type());
}

c10::intrusive_ptr<c10::ivalue::Object> ArchiveReader::object(const c10::StrongTypePtr& type,
                                                              const c10::IValue& state) const {
  const auto cls = type.type_->expect<c10::ClassType>();
  if (is_stand_in(*cls)) return stand_in_object(cls, state);
  auto made = c10::ivalue::Object::create(type, cls->numAttributes());
  if (cls->findMethod("__getstate__") && cls->findMethod("__setstate__")) {
    set_state(made, state, archive.path().string());
  } else {
    const auto slots = state.toGenericDict();
    for (size_t i = 0; i < cls->numAttributes(); ++i) {
      const c10::IValue& v = slots.at(cls->getAttributeName(i));
      require_type(v, *cls->getAttribute(i), archive.path().string(),
                   "'" + cls->getAttributeName(i) + "' of " + cls->annotation_str());
      made->setSlot(i, v);
    }
  }
  return made;
}

std::function<size_t(char*, size_t)> ArchiveReader::bytes_of(const std::string& record) const {
  const archive::Record* r = archive.find(record);
  TORCH_CHECK(r, "there is no record ", record);
  return [bytes = archive.read(*r), at = size_t{0}](char* to, size_t size) mutable {
    const size_t taken = bytes.copy(to, size, at);
    at += taken;
    return taken;
  };
}

c10::IValue ArchiveReader::unpickle(const std::string& name) {
  torch::jit::Unpickler unpickler(
      bytes_of(name + ".pkl"), [this](const c10::QualifiedName& n) { return type(n); },
      [this](const c10::StrongTypePtr& t, const c10::IValue& state) { return object(t, state); },
      [&](const std::string& key) { return storage(name + "/" + key); }, std::nullopt,
      /*use_storage_device=*/true);
  unpickler.set_version(version);
  return unpickler.parse_ivalue();
}

ScriptArchive::ScriptArchive(const archive::Archive& a)
    : reader_(std::make_unique<ArchiveReader>(a)) {}

ScriptArchive::~ScriptArchive() = default;

torch::jit::Module ScriptArchive::module() {
  if (const auto legacy = archive::read_legacy_model(reader_->archive))
    return legacy_module(*legacy, *reader_);
  const c10::IValue constants = reader_->unpickle("constants");
  require_type(constants, *c10::AnyType::get(), reader_->archive.path().string(), "constants.pkl");
  reader_->constants = constants.toTupleRef().elements().vec();
  torch::jit::Module m(reader_->unpickle("data").toObject());
  for (torch::jit::Function* f : reader_->unit->get_functions())
    if (auto* g = torch::jit::tryToGraphFunction(*f))
      shorten_quantized_convolutions(g->graph()->block());
  return m;
}

std::shared_ptr<const MappedFile> ScriptArchive::file() const { return reader_->file; }

c10::IValue ScriptArchive::unpickle(const std::string& name) {
  return reader_->archive.find(name + ".pkl") ? reader_->unpickle(name) : c10::IValue();
}

}  // namespace oe::torch_io
