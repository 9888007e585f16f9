// The text of --dynamic-axes, JSON or short.
#include "lib/options/option_text.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  return fuzz::run_expecting_failure([&] {
    AxesSpec axes;
    parse_dynamic_axes(std::string(bytes), axes);
  });
}
