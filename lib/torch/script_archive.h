// The module of an archive: LibTorch's parser and unpickler, our reader.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <memory>
#include <string>
#include <vector>

#include "lib/archive/archive.h"

namespace oe::torch_io {

class ArchiveReader;

class ScriptArchive {
 public:
  explicit ScriptArchive(const archive::Archive& a);
  ~ScriptArchive();

  // The module, all of it on the CPU, whatever device it was saved on. Its tensors lie in the file,
  // mapped: nothing is read before it is asked for, and what is written to them stays with this
  // process. Throws c10::Error as LibTorch's loader does (an operator or class that is not
  // registered, code of a newer PyTorch, ...).
  torch::jit::Module module();
  // What is pickled in "NAME.pkl", with its tensors in "NAME/"; None where there is no such record,
  // or where its tensors' bytes were left out.
  c10::IValue unpickle(const std::string& name);
  std::shared_ptr<const MappedFile> file() const;

 private:
  std::unique_ptr<ArchiveReader> reader_;
};

}  // namespace oe::torch_io
