// Writing of files through the process's FileAccess.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace oe {

// A file that is written front to back. Its functions throw std::system_error with errno's text.
class FileWriter {
 public:
  // `append`: behind what the file has; else it is emptied.
  explicit FileWriter(const std::filesystem::path& path, bool append = false);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  int descriptor() const { return fd_; }
  // Claims the space of `size` bytes behind what the file had, so that a full disk is found before
  // the work. Where the file system cannot do that, nothing happens.
  void reserve(uint64_t size);
  void write(std::string_view bytes);
  // Must be called when all is written: closing may be the call that reports a full quota.
  void finish();

 private:
  int fd_;
  int64_t begin_ = 0;  // where the first byte goes
};

}  // namespace oe
