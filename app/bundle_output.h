// The folder of --bundle: a check before any work, a private folder, the commit.
#pragma once

#include <filesystem>
#include <string>

#include "app/private_folder.h"
#include "lib/options/options.h"

namespace oe::app {

// Without the option it does nothing. Whatever happens, the private folder is gone when this is.
class BundleOutput {
 public:
  // Throws Failure(Unwritable) when the folder cannot be made or holds something.
  explicit BundleOutput(const Options& o);
  BundleOutput(const BundleOutput&) = delete;
  BundleOutput& operator=(const BundleOutput&) = delete;

  // Where the worker puts its part; empty without the option.
  const std::filesystem::path& tmp() const { return made_.path(); }
  // Adds `report` (JSON) and the command that replays the difference, and renames the folder; does
  // nothing where the worker put nothing into it. Throws Failure(Unwritable).
  void commit(const Options& o, const std::string& report);

 private:
  std::filesystem::path target_;
  PrivateFolder private_;
  Folder made_;
};

}  // namespace oe::app
