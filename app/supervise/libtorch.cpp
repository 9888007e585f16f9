// Where the worker finds LibTorch when it is not in its RUNPATH.
#include "app/supervise/libtorch.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>

#include "app/version.h"
#include "lib/support/diagnostics.h"
#include "lib/support/library_folders.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

constexpr char kLibrary[] = "libtorch_cpu.so";

bool has_libtorch(const fs::path& folder) {
  std::error_code error;
  return fs::is_regular_file(folder / kLibrary, error);
}

// DIR/lib/python3.*/PACKAGES/torch, of each Python in DIR.
std::vector<fs::path> torch_packages(const fs::path& prefix, const char* packages) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", error))
    if (entry.path().filename().string().starts_with("python3"))
      found.push_back(entry.path() / packages / "torch");
  std::sort(found.begin(), found.end());
  return found;
}

// The folder of the libraries in what a user names: the torch package, LibTorch's own archive, the
// folder of the libraries, site-packages or a virtual environment.
std::optional<fs::path> libraries_of(const fs::path& named) {
  std::vector<fs::path> candidates = {named / "lib", named, named / "torch" / "lib"};
  for (const fs::path& package : torch_packages(named, "site-packages"))
    candidates.push_back(package / "lib");
  const auto found = std::ranges::find_if(candidates, has_libtorch);
  if (found == candidates.end()) return std::nullopt;
  std::error_code error;
  const fs::path whole = fs::weakly_canonical(*found, error);
  return error ? *found : whole;
}

// "2.13"; empty where the headers, which every LibTorch has, are missing.
std::string version_of(const fs::path& libraries) {
  std::ifstream header(libraries.parent_path() / "include/torch/headeronly/version.h");
  std::string major, minor;
  for (std::string define, name, value; header >> define;) {
    if (define != "#define") continue;
    header >> name;
    if (name == "TORCH_VERSION_MAJOR") header >> major;
    if (name == "TORCH_VERSION_MINOR") header >> minor;
  }
  return minor.empty() ? "" : major + "." + minor;
}

std::vector<std::string> folders_of(const fs::path& libraries) {
  return {libraries, libraries.parent_path().parent_path() / "onnxruntime" / "capi"};
}

[[noreturn]] void missing(const std::string& what) {
  const std::string wanted = std::string("torch==") + kTorchVersion + ".*";
  throw Failure(ExitCode::MissingPart, "OE0006", what,
                "pip install '" + wanted +
                    "', and specify the folder of the torch package with --torch DIR or "
                    "ONNX_EXPORT_TORCH");
}

}  // namespace

std::vector<std::string> libtorch_folders() {
  if (const char* named = std::getenv("ONNX_EXPORT_TORCH"); named && *named) {
    const std::optional<fs::path> libraries = libraries_of(named);
    if (!libraries) missing(std::string("no ") + kLibrary + " in '" + named + "'");
    const std::string version = version_of(*libraries);
    if (!version.empty() && version != kTorchVersion)
      missing("LibTorch " + version + " in '" + named + "': this build of onnx-export needs " +
              kTorchVersion);
    return folders_of(*libraries);
  }
  for (const std::string& folder : library_folders())
    if (has_libtorch(folder)) return {};
  std::vector<fs::path> packages;
  if (const char* environment = std::getenv("VIRTUAL_ENV"); environment && *environment)
    packages = torch_packages(environment, "site-packages");
  for (const char* prefix : {"/usr/local", "/usr"})
    for (const fs::path& package : torch_packages(prefix, "dist-packages"))
      packages.push_back(package);
  for (const fs::path& package : packages)
    if (has_libtorch(package / "lib") && version_of(package / "lib") == kTorchVersion)
      return folders_of(package / "lib");
  missing("LibTorch " + std::string(kTorchVersion) + " was not found");
}

}  // namespace oe::app
