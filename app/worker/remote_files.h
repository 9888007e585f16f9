// The files of a confined worker: the supervisor opens each one that the command line names.
#pragma once

#include <mutex>

#include "app/file_protocol.h"
#include "app/launch.h"
#include "lib/support/files.h"

namespace oe::app {

class RemoteFiles : public FileAccess {
 public:
  // Opens what the process needs of its own entries in /proc, so it comes before confine().
  explicit RemoteFiles(const RunLimits& limits);

  int open_to_read(const std::filesystem::path& path) override;
  int open_to_write(const std::filesystem::path& path, bool append) override;
  int make_folder(const std::filesystem::path& path) override;
  uint64_t largest_file() const override { return largest_; }

 private:
  // A descriptor, or 0 where none belongs to the answer; -1 and errno on failure.
  int ask(FileRequest::Kind kind, const std::filesystem::path& path);

  std::mutex one_at_a_time_;
  int pages_;  // /proc/self/pagemap; -1: the kernel has none
  uint64_t largest_;
};

}  // namespace oe::app
