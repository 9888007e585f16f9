// Reading of files without LibTorch.
#include "lib/support/files.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

namespace oe {
namespace {

[[noreturn]] void fail() { throw std::system_error(errno, std::generic_category()); }

}  // namespace

File::File(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
  if (fd_ < 0) fail();
  struct stat s {};
  if (fstat(fd_, &s) == 0 && S_ISREG(s.st_mode)) size_ = static_cast<uint64_t>(s.st_size);
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

MappedFile::MappedFile(const File& file) : size_(file.size()) {
  if (size_ == 0) return;
  // Not reserved: what is never written needs no memory of ours.
  void* at = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE, file.fd_, 0);
  if (at == MAP_FAILED) fail();
  data_ = static_cast<char*>(at);
}

MappedFile::~MappedFile() {
  if (data_) munmap(data_, size_);
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
