// Reading of files without LibTorch.
#include "lib/support/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <functional>
#include <system_error>
#include <vector>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe {
namespace {

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

class NotRegular : public std::error_category {
 public:
  const char* name() const noexcept override { return "file kind"; }
  std::string message(int) const override { return "is not a regular file"; }
};

FileAccess own_access;
FileAccess* current_access = &own_access;

}  // namespace

FileAccess& file_access() { return *current_access; }
void set_file_access(FileAccess& access) { current_access = &access; }

int FileAccess::open_to_read(const std::filesystem::path& path) {
  return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
}

int FileAccess::open_to_write(const std::filesystem::path& path, bool append) {
  return open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | (append ? 0 : O_TRUNC), 0666);
}

int FileAccess::make_folder(const std::filesystem::path& path) { return mkdir(path.c_str(), 0777); }

File::File(const std::filesystem::path& path) : File(file_access().open_to_read(path), path) {}

File::File(int descriptor, const std::filesystem::path& path) : fd_(descriptor) {
  static const NotRegular not_regular;
  if (fd_ < 0) fail();
  struct stat s {};
  const int error = fstat(fd_, &s) != 0 ? errno : S_ISDIR(s.st_mode) ? EISDIR : 0;
  const bool regular = !error && S_ISREG(s.st_mode);
  size_ = regular ? static_cast<uint64_t>(s.st_size) : 0;
  const uint64_t largest = file_access().largest_file();
  if (regular && size_ <= largest) return;
  close(fd_);
  if (regular)
    throw Failure(ExitCode::Limit, "OE0803",
                  path.string() + ": has " + human_bytes(size_) + ", more than the limit of " +
                      human_bytes(largest),
                  "raise the limit with --max-size");
  if (error) throw std::system_error(error, std::generic_category());
  throw std::system_error(1, not_regular);
}

File::~File() {
  if (fd_ >= 0) close(fd_);
}

std::string File::read(uint64_t offset, uint64_t count) const {
  if (offset >= size_) return {};
  std::string bytes(std::min(count, size_ - offset), '\0');
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n =
        pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail();
    if (n == 0) break;
    done += static_cast<size_t>(n);
  }
  bytes.resize(done);
  return bytes;
}

MappedFile::MappedFile(const File& file)
    : fd_(fcntl(file.fd_, F_DUPFD_CLOEXEC, 0)), size_(file.size()) {
  if (fd_ < 0) fail();
  if (size_ == 0) return;
  // Not reserved: what is never written needs no memory of ours.
  void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, fd_, 0);
  if (at == MAP_FAILED) {
    close(fd_);
    fail();
  }
  data_ = static_cast<char*>(at);
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
  close(fd_);
}

std::optional<uint64_t> MappedFile::place_of(const void* bytes, size_t count) const {
  const char* begin = static_cast<const char*>(bytes);
  if (!data_ || std::less<>()(begin, data_) || count > size_ ||
      std::greater<>()(begin, data_ + size_ - count) || !unwritten(begin, begin + count))
    return std::nullopt;
  return static_cast<uint64_t>(begin - data_);
}

// A page that was written to is a copy of the process's own. The kernel says of each page whether
// it is the file's: https://docs.kernel.org/admin-guide/mm/pagemap.html
bool MappedFile::unwritten(const char* begin, const char* end) const {
  constexpr uint64_t kPresent = uint64_t{1} << 63, kSwapped = uint64_t{1} << 62,
                     kOfFile = uint64_t{1} << 61;
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t first = reinterpret_cast<uintptr_t>(begin) / page,
                  last = (reinterpret_cast<uintptr_t>(end) + page - 1) / page;
  const int pages = file_access().open_to_read(kPageMap);
  if (pages < 0) return false;
  bool clean = true;
  std::vector<uint64_t> entries(4096);
  for (uintptr_t at = first; clean && at < last;) {
    const size_t wanted = std::min<size_t>(entries.size(), last - at);
    const ssize_t got = pread(pages, entries.data(), wanted * sizeof(uint64_t),
                              static_cast<off_t>(at * sizeof(uint64_t)));
    const size_t n = got < 0 ? 0 : static_cast<size_t>(got) / sizeof(uint64_t);
    clean = n > 0 &&
            std::all_of(entries.begin(), entries.begin() + static_cast<long>(n), [](uint64_t e) {
              return e & kPresent ? (e & kOfFile) != 0 : !(e & kSwapped);
            });
    at += n;
  }
  close(pages);
  return clean;
}

std::string read_file_prefix(const std::filesystem::path& path, uint64_t limit) {
  return File(path).read(0, limit);
}

std::string read_whole_file(const std::filesystem::path& path) {
  const File f(path);
  return f.read(0, f.size());
}

uint64_t little_endian(std::string_view bytes, size_t at, size_t width) {
  uint64_t v = 0;
  for (size_t i = width; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

}  // namespace oe
