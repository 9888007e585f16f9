// Files of ONNX's test data (input_0.pb, output_0.pb): one TensorProto or SequenceProto each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/support/tensor.h"

namespace oe::onnx {

// A tensor, or a sequence of tensors.
struct FileValue {
  bool sequence = false;
  std::vector<TensorPtr> tensors;  // one when it is no sequence
};

// What `path` holds. The file itself does not say whether that is a tensor or a sequence:
// `sequence` does. Tensors of numbers only, with their data in the file. Throws std::runtime_error
// with what is wrong, without the path.
FileValue read_value(const std::filesystem::path& path, bool sequence);

// Writes `v` under `name`. Throws Failure(Unwritable) with errno's text.
void write_value(const FileValue& v, const std::string& name, const std::filesystem::path& path);

}  // namespace oe::onnx
