// An ONNX model as it is decoded.
#include "lib/onnx/onnx.h"

#include "lib/ir/ir.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  try {
    onnx::read_bytes(bytes);
  } catch (const std::exception&) {  // as read_file() does
  }
  return 0;
}
