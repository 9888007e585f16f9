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

TestDataOutput::TestDataOutput(const std::vector<Options>& methods) : force_(methods[0].force) {
  if (methods[0].test_data.empty()) return;
  const bool several = methods.size() > 1;
  for (const Options& o : methods) parts_.push_back(several ? o.method : "");
  target_ = fs::path(methods[0].test_data).lexically_normal();
  if (!target_.has_filename() || several) target_ = target_.parent_path();
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(parent, error))
    unwritable("OE0701", parent, "the folder for the test data does not exist");
  check();
  private_folder_ = make_private_folder(parent);
  for (const std::string& part : parts_) fs::create_directory(private_folder_ / part, error);
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
  for (const std::string& part : parts_) {
    if (fs::exists(target_ / part) && !fs::is_directory(target_ / part))
      unwritable("OE0702", target_ / part, "is not a folder");
    for (const fs::path& set : sets_in(target_ / part)) {
      if (!force_)
        unwritable("OE0704", set, "exists already",
                   "overwrite it with --force, or name another folder with --save-test-data");
      if (!holds_test_data_alone(set))
        unwritable("OE0704", set, "holds other files than input_N.pb and output_N.pb",
                   "name another folder with --save-test-data");
    }
  }
}

void TestDataOutput::commit() {
  if (private_folder_.empty()) return;
  check();  // again: the conversion took its time
  try {
    for (const std::string& part : parts_) {
      const fs::path old = private_folder_ / "old" / part, to = target_ / part;
      fs::create_directories(old);
      fs::create_directories(to);
      for (const fs::path& set : sets_in(to)) fs::rename(set, old / set.filename());
      for (const fs::path& set : sets_in(private_folder_ / part))
        fs::rename(set, to / set.filename());
    }
  } catch (const fs::filesystem_error& e) {
    unwritable("OE0705", target_, e.code().message());
  }
  discard();
}

}  // namespace oe::app
