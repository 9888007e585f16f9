// Where ONNX Runtime's library is looked for.
#include "lib/verify/ort_library.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <vector>

#include "lib/support/library_folders.h"

namespace oe::verify {
namespace {

namespace fs = std::filesystem;

// libonnxruntime.so, libonnxruntime.so.1.31.1, ...; not libonnxruntime_providers_*.so.
std::vector<std::string> libraries_in(const fs::path& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("libonnxruntime.so"))
      found.push_back(entry.path().string());
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> candidates() {
  std::vector<std::string> list;
  std::error_code error;
  const fs::path executable = fs::read_symlink("/proc/self/exe", error);
  std::vector<std::string> folders;
  if (!error) folders = {executable.parent_path(), executable.parent_path().parent_path() / "lib"};
  const std::vector<std::string> searched = library_folders();
  folders.insert(folders.end(), searched.begin(), searched.end());
  for (const std::string& folder : folders) {
    const auto found = libraries_in(folder);
    list.insert(list.end(), found.begin(), found.end());
  }
  list.insert(list.end(), {"libonnxruntime.so.1", "libonnxruntime.so"});  // of ldconfig
  return list;
}

void* open(const std::string& library, std::string& why) {
  // From version 1.31 the library reports its use over the network and keeps a session file in the
  // folder for temporary files, both before anybody could ask its C API not to.
  setenv("ORT_DISABLE_TELEMETRY", "1", /*overwrite=*/1);
  // dlopen() waits until another process writes to a pipe, perhaps for ever.
  std::error_code ignored;
  if (fs::is_fifo(library, ignored)) {
    why = library + ": is not a regular file";
    return nullptr;
  }
  // RTLD_LOCAL: its symbols must not meet those that LibTorch exports.
  if (void* handle = ::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  const char* error = ::dlerror();
  why = error ? error : "cannot load " + library;
  return nullptr;
}

void* search(const std::string& path, std::string& why) {
  if (!path.empty()) return open(path, why);
  if (const char* named = std::getenv("ONNX_EXPORT_ORT_LIB"); named && *named)
    return open(named, why);
  for (const std::string& library : candidates())
    if (void* handle = open(library, why)) return handle;
  why = "ONNX Runtime's library (libonnxruntime.so) was not found";
  return nullptr;
}

}  // namespace

void* load_ort_library(const std::string& path, std::string& why) {
  struct Found {
    void* handle;
    std::string why;
  };
  // A confined process cannot search again: it loads the library before it is confined.
  static std::map<std::string, Found> known;
  const auto [it, fresh] = known.try_emplace(path);
  if (fresh) it->second.handle = search(path, it->second.why);
  why = it->second.why;
  return it->second.handle;
}

}  // namespace oe::verify
