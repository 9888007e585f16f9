// A serialized model for a runtime that opens no file itself. Standard library only.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace oe::onnx {

// An ONNX file, and the files of its external data.
struct ModelFile {
  ModelFile() = default;
  ModelFile(std::filesystem::path path) : path(std::move(path)) {}  // NOLINT: a path is enough

  std::filesystem::path path;
  // Files of external data in other folders, by their location in the model.
  std::map<std::string, std::filesystem::path> data;
};

struct InMemory {
  std::string_view model;  // at most 2 GiB
  struct File {
    std::string location;
    char* data;
    size_t size;
  };
  std::vector<File> files;
  std::vector<std::shared_ptr<const void>> owners;  // of all viewed memory
};

// Maps the file and its external data. External data of nested graphs, which a runtime would open
// itself, is moved into the model. Throws Failure: Unreadable (not a model, OE3001 to OE3003; data
// that is missing, too short, or behind a symbolic link), Limit.
InMemory map_model(const ModelFile& file);

}  // namespace oe::onnx
