// model.json of PyTorch 1.0 to 1.2, with a record of code and one of numbers.
#include "lib/archive/archive.h"
#include "lib/archive/code.h"
#include "lib/archive/summary.h"
#include "tests/fuzz/support.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  using namespace oe;
  const std::string whole = fuzz::archive_of({{"model.json", bytes},
                                              {"code/n.py", "def forward(self): return 1\n"},
                                              {"arena.txt", "op_version_set = 0\n"},
                                              {"tensors/0", std::string(64, '\0')}});
  return fuzz::run_expecting_failure([&] {
    const archive::Archive a("m.pt", File(fuzz::memory_file(whole), "m.pt"));
    archive::summarise(a);
    archive::check_code(a);
  });
}
