// The folder of --bundle: a check before any work, a private folder, the commit.
#include "app/bundle_output.h"

#include <cstring>
#include <fstream>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSet = "test_data_set_0";
constexpr const char* kMade = "bundle";  // in the private folder

void write_text(const fs::path& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  if (!out) unwritable("OE0705", path, "cannot be written");
}

std::string replay_command(const Options& o) {
  const auto absolute = [](const std::string& path) {
    return shell_word(fs::absolute(path).string());
  };
  std::string text =
      "#!/bin/sh\n# Compares the two files again, starting with the inputs for which they differ.\n"
      "cd \"$(dirname \"$0\")\" || exit 1\n"
      "exec onnx-export verify " +
      absolute(o.load.model) + " " + absolute(o.onnx_file);
  if (o.load.method != "forward") text += " --method " + shell_word(o.load.method);
  for (const std::string& lib : o.load.custom_op_libs) text += " --custom-op-lib " + absolute(lib);
  return text + " --inputs-from . \"$@\"\n";
}

}  // namespace

BundleOutput::BundleOutput(const Options& o) {
  if (o.bundle.empty()) return;
  target_ = fs::path(o.bundle).lexically_normal();
  if (!target_.has_filename()) target_ = target_.parent_path();
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(parent, error))
    unwritable("OE0701", parent, "the folder for the bundle does not exist");
  if (fs::exists(fs::symlink_status(target_, error)) &&
      !(fs::is_directory(target_, error) && fs::is_empty(target_, error)))
    unwritable("OE0704", target_, "exists already", "choose another folder with --bundle");
  private_ = PrivateFolder(parent, {target_.filename().string()});
  made_ = private_.make_inside(kMade, 0755);
}

void BundleOutput::commit(const Options& o, const std::string& report) {
  if (!private_.is_open() || !fs::exists(tmp() / kSet)) return;
  write_text(tmp() / "report.json", report);
  write_text(tmp() / "replay.sh", replay_command(o));
  std::error_code error;
  fs::permissions(tmp() / "replay.sh", fs::perms(0755), error);
  // Over an empty folder, or over nothing: it was checked before the work.
  int failed = private_.inside().move(kMade, private_.around(), target_.filename().string(),
                                      /*replace=*/true);
  if (!failed) failed = private_.around().sync();
  if (failed) unwritable("OE0705", target_, std::strerror(failed));
  private_.remove();
}

}  // namespace oe::app
