// What making a module takes of its archive, whatever the format: code, storages, types, objects.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>
#include <torch/csrc/jit/frontend/source_range.h>
#include <torch/csrc/jit/serialization/import_source.h>

#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "lib/archive/archive.h"
#include "lib/archive/model_json.h"
#include "lib/torch/graph_check.h"

namespace oe::torch_io {

class ArchiveReader {
 public:
  explicit ArchiveReader(const archive::Archive& a);

  // Code with the author's lines (`lines`: a record that may be missing); null: there is none.
  std::shared_ptr<torch::jit::Source> source(const std::string& record,
                                             const std::string& lines) const;
  // The bytes of a record: the mapped file where its alignment allows, else a copy.
  at::DataPtr storage(const std::string& record);
  // Throws Failure(Refused) where the type's code calls what it may not (graph_check.h).
  c10::StrongTypePtr type(const c10::QualifiedName& name);
  // Compiles the methods of a module that has no class. Throws like type().
  void import_methods(const torch::jit::Module& m, const std::shared_ptr<torch::jit::Source>& code);
  c10::intrusive_ptr<c10::ivalue::Object> object(const c10::StrongTypePtr& type,
                                                 const c10::IValue& state) const;
  // The content of a record, piece by piece, as LibTorch's unpickler asks for it.
  std::function<size_t(char*, size_t)> bytes_of(const std::string& record) const;
  // "NAME.pkl" with its storages in "NAME/".
  c10::IValue unpickle(const std::string& name);

  const archive::Archive& archive;
  const uint64_t version;
  std::string code_folder = "code/";
  const std::shared_ptr<MappedFile> file;
  const std::shared_ptr<torch::jit::CompilationUnit> unit;
  std::vector<c10::IValue> constants;  // what the code calls CONSTANTS.c0, ...
  torch::jit::SourceImporter importer;

 private:
  std::shared_ptr<torch::jit::Source> code(const std::string& qualifier) const;
  std::unordered_set<std::string> mapped_;
  GraphCheck check_;
};

// Files before version 3 do not say of what their lists and dicts are; whoever takes them does.
void set_element_types(const c10::IValue& v, const c10::TypePtr& type);
// Runs __setstate__ and checks that every slot has a value after it.
// `file`: the model, as messages name it. Throws Failure(Refused) for a state of another type than
// __setstate__ takes.
void set_state(const c10::intrusive_ptr<c10::ivalue::Object>& object, const c10::IValue& state,
               const std::string& file);

// A module of PyTorch 1.0 to 1.2. Throws c10::Error.
torch::jit::Module legacy_module(const archive::LegacyModel& m, ArchiveReader& reader);

}  // namespace oe::torch_io
