// A whole file: zip directory, pickles, code, summary, checksums.
#include "lib/archive/checksums.h"
#include "lib/archive/recognise.h"
#include "lib/archive/summary.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  return fuzz::run_expecting_failure([&] {
    const archive::Archive a =
        archive::require_torchscript("m.pt", File(fuzz::memory_file(bytes), "m.pt"));
    archive::summarise(a);
    archive::check_sums(a);
  });
}
