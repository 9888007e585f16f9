// Where the result goes: checks before any work, private temporary files, the atomic commit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/report.h"
#include "app/test_data_output.h"
#include "lib/options.h"

namespace oe::app {

// The files of one method, or of several: all of them appear, or none. Temporary ones lie in a
// private folder inside the output's own, under their final names, because a model names its data.
// Whatever happens, they are gone when this is.
class Output {
 public:
  // `methods`: the options of each, which has to outlast this. Throws Failure(Unwritable) when an
  // output cannot become the result: its folder is missing or read-only, it is a directory, a
  // symbolic link, the input itself, or exists without --force.
  explicit Output(const std::vector<Options>& methods);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Where the files are made.
  const std::filesystem::path& folder() const { return private_folder_; }
  // The private folder of --save-test-data; empty without it.
  const std::filesystem::path& test_folder() const { return test_data_.tmp(); }

  // Flushes and renames: data, state and test data first, the models last, so that a model is never
  // seen without them. `reports`: what was written for each method. Throws Failure(Unwritable) with
  // errno's text; what was renamed until there is gone again.
  void commit(const std::vector<Report>& reports);
  void discard() noexcept;  // removes the private folder

 private:
  // A file that is made in the private folder.
  struct Made {
    std::filesystem::path tmp, target;
    const char* what;
  };
  Made made(const std::string& name, const char* what) const;
  std::vector<Made> models() const;
  void check_target(const std::filesystem::path& target, const char* what) const;
  bool in_place() const;  // the weights stay in the input
  void check_beside() const;
  void show_weights() const;
  void copy_to_stdout() const;

  const std::vector<Options>& methods_;
  const Options& o_;  // of the first: what all share
  TestDataOutput test_data_;
  std::filesystem::path folder_, private_folder_;
};

}  // namespace oe::app
