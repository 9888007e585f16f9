// What writers of output share: a folder for files that are not finished, and the way to refuse.
#include "app/private_folder.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "lib/support/diagnostics.h"

namespace oe::app {

std::filesystem::path make_private_folder(const std::filesystem::path& folder) {
  std::string name = (folder / ".onnx-export-XXXXXX").string();
  if (!mkdtemp(name.data()))
    unwritable("OE0703", folder,
               std::string("cannot write into this folder: ") + std::strerror(errno));
  return name;
}

void unwritable(const char* code, const std::filesystem::path& path, const std::string& what,
                const std::string& hint) {
  throw Failure(ExitCode::Unwritable, code, path.string() + ": " + what, hint);
}

}  // namespace oe::app
