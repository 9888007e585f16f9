// The folder of --save-test-data: checks before any work, a private folder, the commit.
#include "app/test_data_output.h"

#include <cstring>
#include <string>
#include <vector>

#include "app/test_sets.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

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
  for (const Options& o : methods) parts_.push_back(several ? o.load.method : "");
  target_ = fs::path(methods[0].test_data).lexically_normal();
  if (!target_.has_filename() || several) target_ = target_.parent_path();
  // "." and "..": sets are placed by the name that the folder has in its parent.
  if (target_.filename() == "." || target_.filename() == ".." || !target_.has_filename())
    target_ = fs::weakly_canonical(target_);
  const fs::path parent = target_.has_parent_path() ? target_.parent_path() : fs::path(".");
  std::error_code error;
  if (!fs::is_directory(parent, error))
    unwritable("OE0701", parent, "the folder for the test data does not exist");
  private_ = PrivateFolder(parent, {target_.filename().string()});
  check();
  made_ = private_.make_inside("new");
  for (const std::string& part : parts_) fs::create_directory(tmp() / part, error);
}

void TestDataOutput::check() const {
  std::error_code error;
  const fs::file_status status = fs::symlink_status(target_, error);
  if (!fs::exists(status)) return;
  if (fs::is_symlink(status))
    unwritable("OE0702", target_, "is a symbolic link", "specify the folder that it points to");
  if (!fs::is_directory(status)) unwritable("OE0702", target_, "is not a folder");
  for (const std::string& part : parts_) {
    const fs::path of_part = target_ / part;
    if (fs::exists(of_part) && !fs::is_directory(of_part))
      unwritable("OE0702", of_part, "is not a folder");
    if (!fs::exists(of_part)) continue;
    const auto sets = sets_in(Folder(of_part));
    if (!sets) unwritable("OE0702", of_part, "cannot be read");
    for (const std::string& set : *sets) {
      if (!force_)
        unwritable("OE0704", of_part / set, "exists already",
                   "overwrite it with --force, or choose another folder with --save-test-data");
      if (!holds_test_data_alone(of_part / set))
        unwritable("OE0704", of_part / set, "contains files other than input_N.pb and output_N.pb",
                   "choose another folder with --save-test-data");
    }
  }
}

void TestDataOutput::place(const std::vector<KnownFile>& commits) {
  if (!private_.is_open()) return;
  check();  // again: the conversion took its time
  OwnerRecord record;
  record.commits = commits;
  private_.note(record);
  if (const int e = place_sets(private_.around(), private_.inside(), name(), parts_))
    unwritable("OE0705", target_, std::strerror(e));
}

void TestDataOutput::keep() {
  if (!private_.is_open()) return;
  try {
    keep_sets(private_.inside());
  } catch (...) {
    private_.leave();  // memory ran out: a later run keeps them
    throw;
  }
  private_.remove();
}

void TestDataOutput::discard() noexcept {
  if (!private_.is_open()) return;
  // A set that cannot be moved back is safe where it is, for a later run.
  if (restore_sets(private_.around(), private_.inside(), name()))
    private_.remove();
  else
    private_.leave();
}

}  // namespace oe::app
