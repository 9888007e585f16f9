// Serialized models.
#include "lib/onnx/model_file.h"

#include <system_error>

#include "lib/onnx/bounds.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::onnx {

std::shared_ptr<const MappedFile> map_file(const std::filesystem::path& path) {
  try {
    return std::make_shared<const MappedFile>(File(path));
  } catch (const std::system_error& e) {
    throw Failure(ExitCode::Unreadable, "OE3001",
                  safe_line("cannot read '" + path.string() + "': " + e.code().message()));
  }
}

std::shared_ptr<pb::ModelProto> parse_model(std::string_view bytes, const std::string& what) {
  auto proto = std::make_shared<pb::ModelProto>();
  if (bytes.size() > INT32_MAX ||
      !proto->ParseFromArray(bytes.data(), static_cast<int>(bytes.size())) || !proto->has_graph())
    throw Failure(ExitCode::Unreadable, "OE3002", safe_line(what) + " is not an ONNX model");
  check_bounds(*proto, what);
  return proto;
}

std::shared_ptr<pb::ModelProto> parse_model_file(const std::filesystem::path& path) {
  const auto file = map_file(path);
  return parse_model({file->data(), file->size()}, "'" + path.string() + "'");
}

std::optional<uint64_t> tensor_bytes(const pb::TensorProto& t) {
  uint64_t size = byte_size(static_cast<DType>(t.data_type()));
  if (size == 0) return std::nullopt;
  for (const int64_t d : t.dims())
    if (d < 0 || __builtin_mul_overflow(size, static_cast<uint64_t>(d), &size)) return std::nullopt;
  return size;
}

}  // namespace oe::onnx
