// A .npz file.
#include "lib/archive/numpy_files.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const fuzz::EveryFile file(bytes);
  fuzz::run_expecting_failure([&] { archive::read_npz("x.npz", "x"); });
  return fuzz::run_expecting_failure([&] { archive::read_npz("x.npz", ""); });
}
