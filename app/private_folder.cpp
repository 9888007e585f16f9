// A folder nobody else has, for files that are not finished.
#include "app/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "lib/support/diagnostics.h"

namespace oe::app {

std::filesystem::path make_private_folder(const std::filesystem::path& folder) {
  std::string name = (folder / ".onnx-export-XXXXXX").string();
  if (!mkdtemp(name.data()))
    throw Failure(ExitCode::Unwritable, "OE0703",
                  folder.string() + ": cannot write into this folder: " + std::strerror(errno));
  return name;
}

}  // namespace oe::app
