// Where the result goes: checks before any work, private temporary files, the atomic commit.
#pragma once

#include <filesystem>

#include "app/test_data_output.h"
#include "lib/options.h"

namespace oe::app {

// Temporary files in a private folder inside the output's own, under their final names, because the
// model names its data. Whatever happens, they are gone when this is.
class Output {
 public:
  // Throws Failure(Unwritable) when `o.output` cannot become the result: its folder is missing or
  // read-only, it is a directory, a symbolic link, the input itself, or exists without --force.
  explicit Output(const Options& o);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  const std::filesystem::path& model_tmp() const { return model_tmp_; }
  const std::filesystem::path& data_tmp() const { return data_tmp_; }
  const std::filesystem::path& state_tmp() const { return state_tmp_; }
  // The private folder of --save-test-data; empty without it.
  const std::filesystem::path& test_tmp() const { return test_data_.tmp(); }

  // Flushes and renames: data, state and test data first, the model last, so that a model is never
  // seen without them. `external`, `state`: whether data_tmp and state_tmp were written. Throws
  // Failure(Unwritable) with errno's text.
  void commit(bool external, bool state);
  void discard() noexcept;  // removes the private folder

 private:
  void check_target(const std::filesystem::path& target, const char* what) const;
  bool in_place() const;  // the weights stay in the input
  void check_beside(const std::filesystem::path& folder) const;
  void show_weights() const;
  void copy_to_stdout() const;

  const Options& o_;
  TestDataOutput test_data_;
  std::filesystem::path target_, data_target_, state_target_;
  std::filesystem::path private_folder_, model_tmp_, data_tmp_, state_tmp_;
};

}  // namespace oe::app
