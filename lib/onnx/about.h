// Which ONNX and protobuf libraries these are. Standard library only.
#pragma once

#include <string>

namespace oe::onnx {

std::string onnx_version();      // "1.23.2"
std::string protobuf_version();  // "3.21.12"

}  // namespace oe::onnx
