// The folder of --save-test-data: checks before any work, a private folder, the commit.
#include "app/test_data_output.h"

#include <algorithm>
#include <string>
#include <vector>

#include "app/private_folder.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> sets_in(const fs::path& folder) {
  std::vector<fs::path> sets;
  std::error_code error;
  for (const fs::directory_entry& e : fs::directory_iterator(folder, error))
    if (e.path().filename().string().starts_with("test_data_set_")) sets.push_back(e.path());
  std::ranges::sort(sets);
  return sets;
}

// Nothing but input_N.pb and output_N.pb: what this tool or another one of ONNX's wrote.
bool holds_test_data_alone(const fs::path& set) {
  std::error_code error;
  if (fs::is_symlink(set) || !fs::is_directory(set)) return false;
  for (const fs::directory_entry& e : fs::directory_iterator(set, error)) {
    const std::string name = e.path().filename().string();
    if (!e.is_regular_file() || !name.ends_with(".pb") ||
        !(name.starts_with("input_") || name.starts_with("output_")))
      return false;
  }
  return !error;
}

}  // namespace

TestDataOutput::TestDataOutput(const Options& o) : force_(o.force) {
  if (o.test_data.empty()) return;
  target_ = fs::path(o.test_data).lexically_normal();
  if (!target_.has_filename()) target_ = target_.parent_path();
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(parent, error))
    unwritable("OE0701", parent, "the folder for the test data does not exist");
  check();
  private_folder_ = make_private_folder(parent);
}

TestDataOutput::~TestDataOutput() { discard(); }

void TestDataOutput::discard() noexcept {
  if (private_folder_.empty()) return;
  std::error_code error;
  fs::remove_all(private_folder_, error);
  private_folder_.clear();
}

void TestDataOutput::check() const {
  std::error_code error;
  const fs::file_status status = fs::status(target_, error);
  if (!fs::exists(status)) return;
  if (!fs::is_directory(status)) unwritable("OE0702", target_, "is not a folder");
  for (const fs::path& set : sets_in(target_)) {
    if (!force_)
      unwritable("OE0704", set, "exists already",
                 "overwrite it with --force, or name another folder with --save-test-data");
    if (!holds_test_data_alone(set))
      unwritable("OE0704", set, "holds other files than input_N.pb and output_N.pb",
                 "name another folder with --save-test-data");
  }
}

void TestDataOutput::commit() {
  if (private_folder_.empty()) return;
  check();  // again: the conversion took its time
  const std::vector<fs::path> fresh = sets_in(private_folder_);
  const fs::path old = private_folder_ / "old";
  try {
    fs::create_directory(old);
    fs::create_directory(target_);
    for (const fs::path& set : sets_in(target_)) fs::rename(set, old / set.filename());
    for (const fs::path& set : fresh) fs::rename(set, target_ / set.filename());
  } catch (const fs::filesystem_error& e) {
    unwritable("OE0705", target_, e.code().message());
  }
  discard();
}

}  // namespace oe::app
