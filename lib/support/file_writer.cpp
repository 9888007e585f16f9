// Writing of files through the process's FileAccess.
#include "lib/support/file_writer.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "lib/support/files.h"

namespace oe {
namespace {

[[noreturn]] void fail(int error) { throw std::system_error(error, std::generic_category()); }

}  // namespace

FileWriter::FileWriter(const std::filesystem::path& path, bool append)
    : fd_(file_access().open_to_write(path, append)) {
  if (fd_ < 0) fail(errno);
  if (lseek(fd_, 0, SEEK_END) >= 0) return;
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

void FileWriter::finish() {
  if (close(std::exchange(fd_, -1)) != 0) fail(errno);
}

}  // namespace oe
