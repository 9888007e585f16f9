// Files of ONNX's test data (input_0.pb, output_0.pb): one TensorProto, SequenceProto or
// OptionalProto each.
#pragma once

#include <filesystem>
#include <string>

#include "lib/support/host_value.h"

namespace oe::onnx {

// The ONNX type of a value: the file itself does not say it.
struct FileType {
  bool sequence = false;
  bool optional = false;  // of a tensor, or of a sequence
};

// The value in `path`. Tensors of numbers only, with their data in the file. Throws
// std::runtime_error with what is wrong, without the path.
HostValue read_value(const std::filesystem::path& path, FileType type);

// Writes `v` under `name`. Throws Failure(Unwritable) with errno's text.
void write_value(const HostValue& v, FileType type, const std::string& name,
                 const std::filesystem::path& path);

}  // namespace oe::onnx
