// The text of --input.
#include "lib/options/option_text.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  return fuzz::run_expecting_failure([&] {
    const InputSpec s = parse_input_spec(std::string(bytes));
    spec_text(s);
  });
}
