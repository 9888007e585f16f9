// An ONNX value (input_0.pb), as a tensor and as a sequence.
#include "lib/onnx/value_files.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const fuzz::EveryFile file(bytes);
  for (const bool sequence : {false, true}) {
    try {
      onnx::read_value("x.pb", sequence);
    } catch (const std::runtime_error&) {
    }
  }
  return 0;
}
