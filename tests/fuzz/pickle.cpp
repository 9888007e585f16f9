// data.pkl of an archive with two storages, and of a file of inputs.
#include "lib/archive/archive.h"
#include "lib/archive/preflight.h"
#include "lib/archive/summary.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const std::string whole = fuzz::archive_of({{"data.pkl", bytes},
                                              {"data/0", std::string(256, '\1')},
                                              {"data/1", std::string(64, '\0')},
                                              {"version", "3\n"}});
  const archive::Archive a("m.pt", File(fuzz::memory_file(whole), "m.pt"));
  fuzz::run_expecting_failure([&] { archive::summarise(a); });
  return fuzz::run_expecting_failure([&] { archive::check_saved_values(a); });
}
