// Reading of files without LibTorch: whole files, and the table of contents of a zip archive.
#include "lib/support/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace oe {
namespace {

class File {
 public:
  explicit File(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw std::system_error(errno, std::generic_category());
    struct stat s;
    if (fstat(fd_, &s) == 0 && S_ISREG(s.st_mode)) size_ = static_cast<uint64_t>(s.st_size);
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const { return size_; }
  // Fewer bytes than asked for at the end of the file.
  std::string read(uint64_t offset, size_t count) const {
    std::string out(count, '\0');
    size_t done = 0;
    while (done < count) {
      const ssize_t n =
          pread(fd_, out.data() + done, count - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw std::system_error(errno, std::generic_category());
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    out.resize(done);
    return out;
  }

 private:
  int fd_;
  uint64_t size_ = 0;
};

// Little-endian number of `bytes` bytes at `at`; the caller has checked the length.
uint64_t number(const std::string& s, size_t at, size_t bytes) {
  uint64_t v = 0;
  for (size_t i = bytes; i-- > 0;) v = v << 8 | static_cast<uint8_t>(s[at + i]);
  return v;
}

constexpr uint64_t kSaturated32 = 0xffffffff;

// Offset and size of the central directory, from the end records.
std::optional<std::pair<uint64_t, uint64_t>> find_directory(const File& f) {
  const uint64_t tail_size = std::min<uint64_t>(f.size(), 22 + 65535);
  const std::string tail = f.read(f.size() - tail_size, tail_size);
  const size_t end = tail.rfind("PK\5\6");
  if (end == std::string::npos || end + 22 > tail.size()) return std::nullopt;
  uint64_t size = number(tail, end + 12, 4), offset = number(tail, end + 16, 4);
  if (end >= 20 && tail.compare(end - 20, 4, "PK\6\7") == 0) {
    const std::string end64 = f.read(number(tail, end - 20 + 8, 8), 56);
    if (end64.size() < 56 || !end64.starts_with("PK\6\6")) return std::nullopt;
    size = number(end64, 40, 8);
    offset = number(end64, 48, 8);
  }
  if (offset > f.size() || size > f.size() - offset) return std::nullopt;
  return std::pair{offset, size};
}

// Sizes and offset that did not fit in 32 bits lie in the zip64 extra field, in this order.
void read_zip64(const std::string& extra, ZipEntry& e) {
  for (size_t at = 0; at + 4 <= extra.size();) {
    const size_t id = number(extra, at, 2), length = number(extra, at + 2, 2);
    if (id == 1 && at + 4 + length <= extra.size()) {
      size_t p = at + 4;
      for (uint64_t* field : {&e.size, &e.stored_size, &e.header_offset})
        if (*field == kSaturated32 && p + 8 <= at + 4 + length) {
          *field = number(extra, p, 8);
          p += 8;
        }
    }
    at += 4 + length;
  }
}

}  // namespace

std::string read_file_prefix(const std::filesystem::path& path, size_t limit) {
  const File f(path);
  return f.read(0, std::min<uint64_t>(limit, f.size()));
}

std::string read_whole_file(const std::filesystem::path& path) {
  const File f(path);
  return f.read(0, f.size());
}

std::optional<std::vector<ZipEntry>> zip_directory(const std::filesystem::path& path) {
  const File f(path);
  const auto where = find_directory(f);
  if (!where) return std::nullopt;
  const std::string d = f.read(where->first, where->second);
  std::vector<ZipEntry> entries;
  for (size_t at = 0; at + 46 <= d.size() && d.compare(at, 4, "PK\1\2") == 0;) {
    const size_t name = number(d, at + 28, 2), extra = number(d, at + 30, 2),
                 comment = number(d, at + 32, 2);
    if (at + 46 + name + extra + comment > d.size()) return std::nullopt;
    ZipEntry e;
    e.method = static_cast<uint16_t>(number(d, at + 10, 2));
    e.stored_size = number(d, at + 20, 4);
    e.size = number(d, at + 24, 4);
    e.header_offset = number(d, at + 42, 4);
    e.name = d.substr(at + 46, name);
    read_zip64(d.substr(at + 46 + name, extra), e);
    entries.push_back(std::move(e));
    at += 46 + name + extra + comment;
  }
  return entries;
}

std::optional<std::string> zip_read(const std::filesystem::path& path, const ZipEntry& entry,
                                    size_t limit) {
  if (entry.method != 0) return std::nullopt;
  const File f(path);
  const std::string header = f.read(entry.header_offset, 30);
  if (header.size() < 30 || !header.starts_with("PK\3\4")) return std::nullopt;
  const uint64_t begin = entry.header_offset + 30 + number(header, 26, 2) + number(header, 28, 2);
  if (begin > f.size() || entry.size > f.size() - begin) return std::nullopt;
  return f.read(begin, std::min<uint64_t>(limit, entry.size));
}

}  // namespace oe
