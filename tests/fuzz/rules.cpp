// A file of rules (--symbolics), and the text of --custom-schema.
#include "lib/rules/rules.h"

#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const fuzz::EveryFile file(bytes);
  fuzz::run_expecting_failure([&] { rules::read({"x.rules"}, {}); });
  return fuzz::run_expecting_failure([&] { rules::read({}, {std::string(bytes)}); });
}
