// Private to lib/onnx: serialized models.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/onnx/proto.h"
#include "lib/support/files.h"

namespace oe::onnx {

// Throws Failure(Unreadable, OE3001).
std::shared_ptr<const MappedFile> map_file(const std::filesystem::path& path);

// Throws Failure: Unreadable (OE3001 for what cannot be read, OE3002 for what is no model), Limit
// (OE3005, bounds.h).
std::shared_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& what);
std::shared_ptr<pb::ModelProto> parse_model_file(const std::filesystem::path& path);

// Bytes of its elements; nothing where its dims are impossible or its type has no size.
std::optional<uint64_t> tensor_bytes(const pb::TensorProto& t);

}  // namespace oe::onnx
