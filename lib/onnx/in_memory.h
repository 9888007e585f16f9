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

// An ONNX file, and where its external data lies.
struct ModelFile {
  ModelFile() = default;
  ModelFile(std::filesystem::path path) : path(std::move(path)) {}  // NOLINT: a path is enough

  std::filesystem::path path;
  // Files of external data that are not beside it, by the location that the model states.
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
  std::vector<std::shared_ptr<const void>> owners;  // of all that is viewed
};

// Maps the file and those of its external data. What a runtime would look for itself, external data
// of nested graphs, is moved into the model. Throws Failure: Unreadable (no model, OE3001 to
// OE3003; data that is missing, too short, or behind a symbolic link), Limit.
InMemory map_model(const ModelFile& file);

}  // namespace oe::onnx
