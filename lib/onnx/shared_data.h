// A file of external data that several models refer to: equal bytes are in it once.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "lib/support/tensor.h"

namespace oe::onnx {

// What the models that are written so far have put into the file. Each model's writer appends what
// is not there yet (write() in onnx.h).
class SharedData {
 public:
  uint64_t size() const { return size_; }  // of the file
  // The file's name, which the first model that has weights in it decides; empty before.
  const std::string& name() const { return name_; }
  void set_name(const std::string& name) { name_ = name; }
  // Where `file` has the bytes of `t`, if it does: they are compared.
  std::optional<uint64_t> find(const Tensor& t, const std::filesystem::path& file) const;
  // The bytes of `t` were written at `offset`.
  void written(const Tensor& t, uint64_t offset);

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // size in bytes, hash
  std::multimap<Key, uint64_t> places_;
  uint64_t size_ = 0;
  std::string name_;
};

}  // namespace oe::onnx
