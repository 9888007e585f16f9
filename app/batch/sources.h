// The files that the sources of a batch are.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/batch/plan.h"

namespace oe::app {

// A model, and where it was found: its path below a folder that was searched, or as it was named.
struct Source {
  std::string model;
  std::filesystem::path below;
  bool in_folder = false, found = false;
  std::string output;  // of a manifest: inside the output folder; empty: made from the name
  Strings words;       // of a manifest
};

// Throws Failure(Unreadable, OE0731) where a source is missing or holds no model.
std::vector<Source> find_sources(const BatchLine& line);

// Throws Failure(Usage, OE0733) with line and field.
std::vector<Source> read_manifest(const std::string& path, BatchTask task);

// The options in NAME.onnx-export beside NAME.pt; none where there is no such file. Throws Failure.
Strings sidecar_words(const std::string& model, BatchTask task);

}  // namespace oe::app
