// A .npy file.
#include "lib/archive/numpy_files.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  return fuzz::run_expecting_failure([&] { archive::parse_npy("x.npy", std::string(bytes)); });
}
