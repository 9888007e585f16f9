// Reading of files without LibTorch.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace oe {

// Opens the files of this process. A confined worker asks its supervisor for each file; every other
// process opens them itself.
class FileAccess {
 public:
  virtual ~FileAccess() = default;
  // A descriptor, closed on exec; -1 and errno on failure. Reading never waits for a writer of a
  // pipe.
  virtual int open_to_read(const std::filesystem::path& path);
  // Creates the file; one that exists is emptied unless `append` is set.
  virtual int open_to_write(const std::filesystem::path& path, bool append);
  // 0; -1 and errno on failure. The parent must exist.
  virtual int make_folder(const std::filesystem::path& path);
  // Bytes; a larger file is not read (--max-size).
  virtual uint64_t largest_file() const { return UINT64_MAX; }
};
FileAccess& file_access();
// Opens /proc/self/pagemap, the kernel's entry for each page of this process.
inline constexpr char kPageMap[] = "/proc/self/pagemap";
// `access` must outlive every use of files.
void set_file_access(FileAccess& access);

// An open regular file, read by position. Throws std::system_error with errno's text, or with "is
// not a regular file"; Failure(Limit, OE0803) if the file is larger than largest_file().
class File {
 public:
  explicit File(const std::filesystem::path& path);
  // Takes over `descriptor`; `path` is for messages.
  File(int descriptor, const std::filesystem::path& path);
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}
  ~File();

  uint64_t size() const { return size_; }  // when it was opened
  int descriptor() const { return fd_; }
  // Reads fewer bytes at the end of the file, or if it was truncated.
  std::string read(uint64_t offset, uint64_t count) const;

 private:
  friend class MappedFile;
  int fd_;
  uint64_t size_ = 0;
};

// A private memory map of a whole file: pages are read on access, and writes to the map stay in
// this process. If the file is truncated, an access beyond its new end kills the process
// (SIGBUS).
class MappedFile {
 public:
  explicit MappedFile(const File& file);  // throws std::system_error
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  char* data() const { return data_; }  // null when empty
  uint64_t size() const { return size_; }
  int descriptor() const { return fd_; }  // of the file, for reading
  // The offset in the file of these bytes of the map; nothing if they are outside the map, or if
  // this process wrote to their pages.
  std::optional<uint64_t> place_of(const void* bytes, size_t count) const;

 private:
  bool unwritten(const char* begin, const char* end) const;

  int fd_;
  char* data_ = nullptr;
  uint64_t size_;
};

// At most `limit` bytes from the start. Throws as File does.
std::string read_file_prefix(const std::filesystem::path& path, uint64_t limit);
// The whole file. Throws as File does.
std::string read_whole_file(const std::filesystem::path& path);

// The little-endian number of `width` bytes at `at`; the caller has checked the length.
uint64_t little_endian(std::string_view bytes, size_t at, size_t width);

}  // namespace oe
