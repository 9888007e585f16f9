// Private to lib/onnx: external data of a serialized model, opened and checked by ourselves.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "lib/onnx/in_memory.h"
#include "lib/onnx/proto.h"
#include "lib/onnx/summary.h"
#include "lib/support/files.h"

namespace oe::onnx {

// Where the bytes of a tensor with external data lie.
struct ExternalPlace {
  std::string location;  // relative to the model's folder, and inside it
  uint64_t offset = 0;
  std::optional<uint64_t> length;
};
// Throws std::runtime_error that names the tensor.
ExternalPlace external_place(const pb::TensorProto& t);

// Bytes of the file at `location` beside a model; nothing where there is none. Throws
// std::runtime_error for a symbolic link on the way, and for what is no regular file.
std::optional<uint64_t> data_file_size(const std::filesystem::path& folder,
                                       const std::string& location);

// The files of external data of one model. Each is mapped once, when it is asked for.
class ExternalFiles {
 public:
  explicit ExternalFiles(const ModelFile& model)
      : folder_(model.path.parent_path()), elsewhere_(model.data) {}

  // The bytes of a tensor with external data, which last as long as the file's mapping. Throws
  // std::runtime_error where the file is missing, a link, no regular file or too short.
  std::string_view bytes(const pb::TensorProto& t);
  // A view of them; a copy where they are not aligned.
  TensorPtr tensor(const pb::TensorProto& t);
  std::shared_ptr<MappedFile> file(const std::string& location);
  const std::map<std::string, std::shared_ptr<MappedFile>>& files() const { return files_; }

 private:
  std::filesystem::path folder_;
  std::map<std::string, std::filesystem::path> elsewhere_;
  std::map<std::string, std::shared_ptr<MappedFile>> files_;
};

// As summarise() of a file of `bytes` (summary.h).
ModelSummary summarise(const std::filesystem::path& folder, const pb::ModelProto& m,
                       uint64_t bytes);

// Moves external data into the model. `stays`: of the tensors that stay outside. Returns how many
// were moved. Throws as ExternalFiles does; Failure(Limit, OE3004) where they have more than 1 GiB.
using Stays = std::function<bool(const pb::TensorProto&)>;
size_t move_inside(pb::GraphProto& g, ExternalFiles& files, const Stays& stays);
size_t move_inside(pb::ModelProto& m, ExternalFiles& files, const Stays& stays);

}  // namespace oe::onnx
