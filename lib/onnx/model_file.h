// Private to lib/onnx: serialized models and where their external data lies.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/onnx/proto.h"

namespace oe::onnx {

// A file mapped read-only for as long as something points into it.
struct Mapping {
  const char* data = nullptr;
  size_t size = 0;

  explicit Mapping(const std::filesystem::path& path);  // throws Failure(Unreadable, OE3001)
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

// Throws Failure(Unreadable): OE3001 for what cannot be read, OE3002 for what is no model.
std::shared_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& what);
std::shared_ptr<pb::ModelProto> parse_model_file(const std::filesystem::path& path);

// Where the bytes of a tensor with external data lie.
struct ExternalPlace {
  std::string location;  // relative to the model's folder, and inside it
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
// Throws std::runtime_error that names the tensor.
ExternalPlace external_place(const pb::TensorProto& t);

// Bytes of its elements; nothing where its dims are impossible or its type has no size.
std::optional<uint64_t> tensor_bytes(const pb::TensorProto& t);

}  // namespace oe::onnx
