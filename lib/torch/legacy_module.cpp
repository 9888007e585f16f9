// PyTorch 1.0 to 1.2 wrote modules as a tree in JSON, with the code of each module's methods in a
// file of its own and no classes: those are made here, and LibTorch compiles the methods into them.
#include <ATen/ops/empty.h>
#include <torch/csrc/jit/frontend/resolver.h>
#include <torch/csrc/jit/frontend/script_type_parser.h>
#include <torch/csrc/jit/serialization/unpickler.h>

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "lib/torch/archive_reader.h"
#include "lib/torch/convert.h"
#include "lib/torch/value_types.h"

namespace oe::torch_io {
namespace {

using archive::LegacyModel;
using archive::LegacyModule;
using archive::LegacyTensor;
using torch::jit::Module;

// Types that attributes name: those of the archive's own classes.
class Types : public torch::jit::Resolver {
 public:
  explicit Types(ArchiveReader& reader) : reader_(reader) {}
  c10::TypePtr resolveType(const std::string& name, const torch::jit::SourceRange&) override {
    return reader_.type(c10::QualifiedName(name)).type_;
  }

 private:
  ArchiveReader& reader_;
};

class Builder {
 public:
  Builder(const LegacyModel& m, ArchiveReader& reader)
      : model_(m), reader_(reader), types_(std::make_shared<Types>(reader)) {}

  Module run() {
    reader_.code_folder = "libs/";  // of its classes
    for (const LegacyTensor& t : model_.tensors) tensors_.push_back(tensor(t));
    // The code calls them CONSTANTS.c0, ...
    reader_.constants.assign(tensors_.begin(), tensors_.end());
    if (model_.version >= 2) read_values();
    return module(model_.main, {"__torch__"});
  }

 private:
  at::Tensor tensor(const LegacyTensor& t) {
    const auto [it, fresh] = storages_.try_emplace(t.record);
    if (fresh)
      it->second = at::Storage(c10::Storage::use_byte_size_t(),
                               reader_.archive.find(t.record)->size, reader_.storage(t.record),
                               /*allocator=*/nullptr, /*resizable=*/false);
    at::Tensor made = at::empty({0}, to_scalar_type(t.dtype));
    made.set_(it->second, t.offset, t.sizes, t.strides);
    made.set_requires_grad(t.requires_grad);
    return made;
  }

  void read_values() {
    torch::jit::Unpickler unpickler(
        reader_.bytes_of("attributes.pkl"),
        [this](const c10::QualifiedName& n) { return reader_.type(n); }, tensors_,
        [this](const c10::StrongTypePtr& t, const c10::IValue& state) {
          return reader_.object(t, state);
        });
    const c10::IValue all = unpickler.parse_ivalue();
    values_ = all.isTuple() ? all.toTupleRef().elements().vec() : all.toListRef().vec();
  }

  c10::IValue value(std::optional<size_t> i) const {
    if (!i) return {};
    TORCH_CHECK(*i < values_.size(), "attributes.pkl has no value ", *i);
    return values_[*i];
  }

  // `path`: the names of the modules around it, of which its class's name is made.
  Module module(const LegacyModule& def, std::vector<std::string> path) {
    const c10::QualifiedName name(def.name);
    for (const std::string& atom : name.atoms()) {
      const bool number =
          std::ranges::all_of(atom, [](unsigned char c) { return std::isdigit(c); });
      path.push_back(number ? "_" + atom : atom);
    }
    Module m(c10::QualifiedName(path), reader_.unit);
    for (const LegacyModule& s : def.submodules) m.register_module(s.name, module(s, path));
    for (const LegacyModule::Parameter& p : def.parameters)
      m.register_parameter(p.name, tensors_[p.tensor], p.is_buffer);
    torch::jit::ScriptTypeParser parser(types_);
    for (const LegacyModule::Attribute& a : def.attributes) {
      if (m.hasattr(a.name)) continue;  // it is a buffer
      const c10::TypePtr type = parser.parseType(a.type);
      const c10::IValue v = value(a.value);
      set_element_types(v, type);
      require_type(v, *type, reader_.archive.path().string(),
                   "'" + a.name + "' of " + name.qualifiedName());
      m.register_attribute(a.name, type, v);
    }
    if (const auto code = reader_.source(def.code, def.lines)) reader_.import_methods(m, code);
    if (def.state) set_state(m._ivalue(), value(def.state), reader_.archive.path().string());
    return m;
  }

  const LegacyModel& model_;
  ArchiveReader& reader_;
  std::shared_ptr<Types> types_;
  std::unordered_map<std::string, at::Storage> storages_;
  std::vector<at::Tensor> tensors_;
  std::vector<c10::IValue> values_;
};

}  // namespace

Module legacy_module(const LegacyModel& m, ArchiveReader& reader) {
  return Builder(m, reader).run();
}

}  // namespace oe::torch_io
