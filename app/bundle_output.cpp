// The folder of --bundle: a check before any work, a private folder, the commit.
#include "app/bundle_output.h"

#include <fstream>

#include "app/private_folder.h"
#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSet = "test_data_set_0";

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
      "#!/bin/sh\n# Compares the two once more, beginning with the inputs on which they differed.\n"
      "cd \"$(dirname \"$0\")\" || exit 1\n"
      "exec onnx-export verify " +
      absolute(o.model) + " " + absolute(o.onnx_file);
  if (o.method != "forward") text += " --method " + shell_word(o.method);
  for (const std::string& lib : o.custom_op_libs) text += " --custom-op-lib " + absolute(lib);
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
    unwritable("OE0704", target_, "exists already", "name another folder with --bundle");
  private_folder_ = make_private_folder(parent);
}

BundleOutput::~BundleOutput() {
  if (private_folder_.empty()) return;
  std::error_code error;
  fs::remove_all(private_folder_, error);
}

void BundleOutput::commit(const Options& o, const std::string& report) {
  if (private_folder_.empty() || !fs::exists(private_folder_ / kSet)) return;
  write_text(private_folder_ / "report.json", report);
  write_text(private_folder_ / "replay.sh", replay_command(o));
  std::error_code error;
  fs::permissions(private_folder_ / "replay.sh", fs::perms(0755), error);
  fs::permissions(private_folder_, fs::perms(0755), error);
  fs::rename(private_folder_, target_, error);
  if (error) unwritable("OE0705", target_, error.message());
  private_folder_.clear();
}

}  // namespace oe::app
