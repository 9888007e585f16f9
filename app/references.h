// Which ONNX models of a folder name a file beside them: their weights, or their saved state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/folder.h"

namespace oe::app {

// Whether the model names `file` as a place of weights, or as its saved state. Nothing where the
// model exists and cannot be read.
std::optional<bool> names_file(const Folder& folder, const std::string& model,
                               const std::string& file);

// Whether any model in the folder names `file`: one of `models`, or another .onnx file. Nothing
// where that cannot be read. A name made of the models' own (net.onnx.data of net.onnx) is looked
// for in files that begin the same way, any other name in all of them.
std::optional<bool> is_named(const Folder& folder, const std::vector<std::string>& models,
                             const std::string& file);

}  // namespace oe::app
