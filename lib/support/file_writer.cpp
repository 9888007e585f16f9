// Writing of files through the process's FileAccess.
#include "lib/support/file_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/support/files.h"

namespace oe {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

int opened(const std::filesystem::path& path, bool append) {
  int fd = -1;
  do {
    fd = file_access().open_to_write(path, append);
  } while (fd < 0 && errno == EINTR);
  return fd;
}

}  // namespace

FileWriter::FileWriter(const std::filesystem::path& path, bool append) : fd_(opened(path, append)) {
  if (fd_ < 0) fail(errno);
  begin_ = lseek(fd_, 0, SEEK_END);
  if (begin_ >= 0) return;
  const int error = errno;
  close(fd_);
  fail(error);
}

FileWriter::~FileWriter() {
  if (fd_ >= 0) close(fd_);
}

void FileWriter::write(std::string_view bytes) {
  constexpr size_t most = 1 << 30;  // one write(2) takes at most 2 GiB
  while (!bytes.empty()) {
    const ssize_t n = ::write(fd_, bytes.data(), std::min(bytes.size(), most));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail(errno);
    if (n == 0) fail(ENOSPC);
    bytes.remove_prefix(static_cast<size_t>(n));
  }
}

void FileWriter::reserve(uint64_t size) {
  if (size == 0) return;
  int result = 0;
  do {
    result = fallocate(fd_, FALLOC_FL_KEEP_SIZE, begin_, static_cast<off_t>(size));
  } while (result != 0 && errno == EINTR);
  if (result == 0) return;
  const int error = errno;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG || error == EIO) fail(error);
}

void FileWriter::finish() {
  // After EINTR the descriptor is closed all the same; fsync reports what was not written.
  if (close(std::exchange(fd_, -1)) != 0 && errno != EINTR) fail(errno);
}

}  // namespace oe
