// An ONNX value (input_0.pb), as a tensor, a sequence and an optional of each.
#include "lib/onnx/value_files.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const fuzz::EveryFile file(bytes);
  for (const onnx::FileType type : {onnx::FileType{},
                                    {.sequence = true},
                                    {.optional = true},
                                    {.sequence = true, .optional = true}}) {
    try {
      onnx::read_value("x.pb", type);
    } catch (const std::runtime_error&) {
    }
  }
  return 0;
}
