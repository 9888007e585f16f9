// Writing of files through the process's FileAccess.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace oe {

// A file that is written front to back. Its functions throw std::system_error with errno's text.
class FileWriter {
 public:
  // `append`: writes after the existing content; otherwise the file is emptied.
  explicit FileWriter(const std::filesystem::path& path, bool append = false);
  ~FileWriter();
  FileWriter(const FileWriter&) = delete;
  FileWriter& operator=(const FileWriter&) = delete;

  int descriptor() const { return fd_; }
  // Reserves `size` bytes after the existing content, so that a full disk is detected before the
  // work. Does nothing if the file system does not support it.
  void reserve(uint64_t size);
  void write(std::string_view bytes);
  // Call it after the last write: closing may report an exceeded quota.
  void finish();

 private:
  int fd_;
  int64_t begin_ = 0;  // where the first byte goes
};

}  // namespace oe
