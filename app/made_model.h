// Models that a worker made, checked before they are committed: nothing that the worker says is
// taken on trust.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "app/folder.h"

namespace oe::app {

// A model in the private folder, and the files that it may name. Empty: none.
struct MadeModel {
  std::string name, data_file, state_file;
};

// Where the weights lie that the models name.
struct MadeData {
  std::filesystem::path path;
  bool made = true;    // by the worker: all of its bytes belong to a tensor
  uint64_t align = 1;  // bytes; fewer than these lie between two tensors
};

// Requires that each file is a model in protobuf's wire format, that it names no files but its own,
// and that its weights lie inside the data file. Throws Failure(Crashed, OE0902); std::system_error
// where a file cannot be read.
void require_sound(const Folder& made, const std::vector<MadeModel>& models, const MadeData& data);

}  // namespace oe::app
