// Reading of files without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace oe {

// An open file, read by position. Throws std::system_error with errno's text.
class File {
 public:
  explicit File(const std::filesystem::path& path);
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  ~File();

  uint64_t size() const { return size_; }  // when it was opened; 0 of what is no regular file
  // Fewer bytes where the file ends, or has become shorter.
  std::string read(uint64_t offset, uint64_t count) const;

 private:
  friend class MappedFile;
  int fd_;
  uint64_t size_ = 0;
};

// A whole file in memory that nobody has read yet: pages come when they are asked for. What is
// written to it stays with this process. A file that becomes shorter ends the process that reads
// behind its new end (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const File& file);  // throws std::system_error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }  // null when empty
  uint64_t size() const { return size_; }
  int descriptor() const { return fd_; }  // of the file, for reading
  // Where in the file these bytes of the map stand, if they are as the file has them: not outside
  // the map, and nobody has written to them.
  std::optional<uint64_t> place_of(const void* bytes, size_t count) const;

 private:
  bool unwritten(const char* begin, const char* end) const;

  int fd_;
  char* data_ = nullptr;
  uint64_t size_;
};

// At most `limit` bytes from the start. Throws std::system_error with errno's text.
std::string read_file_prefix(const std::filesystem::path& path, uint64_t limit);
// The whole file. Throws std::system_error with errno's text.
std::string read_whole_file(const std::filesystem::path& path);

// The little-endian number of `width` bytes at `at`; the caller has checked the length.
uint64_t little_endian(std::string_view bytes, size_t at, size_t width);

}  // namespace oe
