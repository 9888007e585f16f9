// The folder of --save-test-data: checks before any work, a private folder, the commit.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "lib/options.h"

namespace oe::app {

// Folders test_data_set_N are made in a private folder beside the one that is named, and renamed
// into that; of several methods each has a folder in both. Whatever happens, the private one is
// gone when this is. Without the option it does nothing.
class TestDataOutput {
 public:
  // `methods`: the options of each. Throws Failure(Unwritable) when the folder cannot be made, or
  // has sets already and there is no
  // --force; with it, where these hold other files than ONNX's.
  explicit TestDataOutput(const std::vector<Options>& methods);
  ~TestDataOutput();
  TestDataOutput(const TestDataOutput&) = delete;
  TestDataOutput& operator=(const TestDataOutput&) = delete;

  const std::filesystem::path& tmp() const { return private_folder_; }
  // Replaces the sets that are there. Throws Failure(Unwritable) with the system's reason.
  void commit();
  void discard() noexcept;

 private:
  void check() const;

  const bool force_;
  std::filesystem::path target_, private_folder_;
  std::vector<std::string> parts_;  // folders inside both, of several methods; of one: ""
};

}  // namespace oe::app
