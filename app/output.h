// Where the result goes: checks before any work, private temporary files, the atomic commit.
#pragma once

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "app/private_folder.h"
#include "app/report.h"
#include "app/test_data_output.h"
#include "lib/options/options.h"

namespace oe::app {

// The files of one method, or of several: all of them appear, or none. Temporary ones lie in a
// private folder inside the output's own, under their final names, because a model names its data.
// Whatever happens, they are gone when this is.
class Output {
 public:
  // `methods`: the options of each, which has to outlast this. Throws Failure(Unwritable) when an
  // output cannot become the result: its folder is missing or read-only, it is a directory, a
  // symbolic link, the input itself, or exists without --force.
  // Throws Failure(Unwritable, OE0711) where another process writes the same output.
  explicit Output(const std::vector<Options>& methods);
  ~Output() { discard(); }
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Where the worker makes the files.
  const std::filesystem::path& folder() const { return made_.path(); }
  // The private folder of --save-test-data; empty without it.
  std::filesystem::path test_folder() const { return test_data_.tmp(); }
  // Names of existing files that new ones beside the models cannot have (TemporaryFiles::taken).
  std::vector<std::string> taken() const;

  // Flushes and renames: data, state and test data first, the models last. A model's rename is the
  // only point at which it is replaced: until then the old one and its files are as they were, and
  // its files go after it. `reports`: what was written for each method. Throws Failure(Unwritable)
  // with errno's text; a model whose rename was not reached is as it was.
  void commit(const std::vector<Report>& reports);
  // The files that commit() will move into the folder: name and SHA-256, the models first.
  std::vector<std::pair<std::string, std::string>> digests(
      const std::vector<Report>& reports) const;
  void discard() noexcept;  // removes the private folder

 private:
  // A file that is made in the private folder, and moved out of it.
  struct Made {
    std::string name;
    const char* what;
  };
  class Placed;
  std::vector<Made> models() const;
  std::vector<Made> beside(const std::vector<Report>& reports) const;
  std::vector<std::string> model_names() const;
  std::vector<std::string> plain_names() const;   // of the files beside the models
  std::vector<std::string> names_beside() const;  // existing files with these names, or hashed ones
  std::vector<std::string> targets() const;       // no other process may write them meanwhile
  // Files beside the models that are there and named by these, but not by the new ones.
  std::vector<KnownFile> replaced(const std::vector<Made>& beside) const;
  void check_targets() const;
  void check_target(const Made& made) const;
  void require_moved(int error, const std::string& name) const;
  void place_models(const std::vector<Made>& models, Placed& placed) const;
  void place_beside(const std::vector<Made>& beside, Placed& placed) const;
  bool in_place() const;  // the weights stay in the input
  void check_beside() const;
  // Throws as require_sound() does (made_model.h).
  void check_made(const std::vector<Report>& reports) const;
  void copy_to_stdout() const;

  const std::vector<Options>& methods_;
  const Options& o_;  // of the first: what all share
  TestDataOutput test_data_;
  std::filesystem::path folder_;
  PrivateFolder private_;
  Folder made_;  // in it: what the worker writes
};

}  // namespace oe::app
