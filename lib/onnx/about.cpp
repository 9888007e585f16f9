// Which ONNX and protobuf libraries these are.
#include "lib/onnx/about.h"

#include <google/protobuf/stubs/common.h>
#include <onnx/common/version.h>

namespace oe::onnx {

std::string onnx_version() { return ONNX_VERSION_STRING; }

std::string protobuf_version() {
  return google::protobuf::internal::VersionString(GOOGLE_PROTOBUF_VERSION);
}

}  // namespace oe::onnx
