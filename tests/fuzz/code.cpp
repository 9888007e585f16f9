// The text of a record of code.
#include "lib/archive/code.h"

#include "lib/archive/source.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  try {
    archive::check_code_text(bytes);
  } catch (const archive::BadCode&) {
  }
  archive::Summary s;
  archive::outline(bytes);
  archive::count_operators(bytes, s);
  archive::method_text(bytes, "Net", "forward");
  return 0;
}
