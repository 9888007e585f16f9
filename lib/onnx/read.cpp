// Models from text, bytes and files; external data is mapped, not read.
#include <onnx/defs/parser.h>

#include <stdexcept>

#include "lib/onnx/model_file.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/proto.h"
#include "lib/support/diagnostics.h"

namespace oe::onnx {
namespace {

// Resolves external data beside a model; each data file is mapped once.
class ExternalFiles {
 public:
  explicit ExternalFiles(std::filesystem::path folder) : folder_(std::move(folder)) {}

  TensorPtr operator()(const pb::TensorProto& t) {
    const ExternalPlace place = external_place(t);
    auto& mapping = files_[place.location];
    if (!mapping) mapping = std::make_shared<Mapping>(folder_ / place.location);
    std::vector<int64_t> dims(t.dims().begin(), t.dims().end());
    const std::optional<uint64_t> wanted = tensor_bytes(t);
    if (!wanted || (place.length && *place.length != *wanted) || place.offset > mapping->size ||
        *wanted > mapping->size - place.offset)
      throw std::runtime_error("tensor '" + t.name() + "': '" + place.location + "' is too short");
    const uint64_t size = *wanted;
    const char* data = mapping->data + place.offset;
    const auto dtype = static_cast<DType>(t.data_type());
    if (reinterpret_cast<uintptr_t>(data) % byte_size(dtype) != 0)  // a foreign, unaligned file
      return Tensor::from_bytes(dtype, std::move(dims), data, size);
    return std::make_shared<Tensor>(dtype, std::move(dims), data, mapping);
  }

 private:
  std::filesystem::path folder_;
  std::unordered_map<std::string, std::shared_ptr<Mapping>> files_;
};

}  // namespace

ir::Model parse_text(std::string_view text) {
  auto proto = std::make_shared<pb::ModelProto>();
  pb::OnnxParser parser(text);
  const auto status = parser.Parse(*proto);
  if (!status.IsOK()) throw std::runtime_error(status.ErrorMessage());
  if (!parser.EndOfInput()) throw std::runtime_error("text after the end of the model");
  return from_proto(std::move(proto));
}

ir::Model read_bytes(std::string_view bytes) { return from_proto(parse_model(bytes, "the input")); }

ir::Model read_file(const std::filesystem::path& path) try {
  auto proto = parse_model_file(path);
  const auto files = std::make_shared<ExternalFiles>(path.parent_path());
  return from_proto(std::move(proto), [files](const pb::TensorProto& t) { return (*files)(t); });
} catch (const Failure&) {
  throw;
} catch (const std::exception& e) {  // also what a container says of a name that is not there
  throw Failure(ExitCode::Unreadable, "OE3003", "'" + path.string() + "': " + e.what());
}

}  // namespace oe::onnx
