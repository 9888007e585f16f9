// The folder of --save-test-data: checks before any work, a private folder, the commit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/private_folder.h"
#include "lib/options/options.h"

namespace oe::app {

// Folders test_data_set_N are made in a private folder beside the one that is named, and renamed
// into that; of several methods each has a folder in both. Unless keep() is
// called, the sets that were there are in place again when this is gone. Without the option it does
// nothing.
class TestDataOutput {
 public:
  // `methods`: the options of each. Throws Failure(Unwritable) when the folder cannot be made, or
  // has sets already and there is no --force; with it, where these hold other files than ONNX's.
  explicit TestDataOutput(const std::vector<Options>& methods);
  ~TestDataOutput() { discard(); }
  TestDataOutput(const TestDataOutput&) = delete;
  TestDataOutput& operator=(const TestDataOutput&) = delete;

  // Where sets are made; empty without the option.
  const std::filesystem::path& tmp() const { return made_.path(); }
  // Replaces the sets that are there. `commits`: a file that appears with the sets, by its absolute
  // path; after a kill a later run keeps the new sets only where it did. Throws Failure(Unwritable)
  // with the system's reason.
  void place(const std::vector<KnownFile>& commits);
  void keep();              // the sets that were replaced are not wanted any more
  void discard() noexcept;  // undoes place(), and removes what was made

 private:
  void check() const;
  std::string name() const { return target_.filename().string(); }

  const bool force_;
  std::filesystem::path target_;
  PrivateFolder private_;
  Folder made_;
  std::vector<std::string> parts_;  // folders inside both, of several methods; of one: ""
};

}  // namespace oe::app
