// A directory that is held open. Names are relative to it, and symbolic links are not followed.
#include "app/folder.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

#include "app/private_folder.h"

namespace oe::app {
namespace {

// Repeats a call that a signal interrupted.
template <class F>
auto repeated(const F& call) {
  auto result = call();
  while (result == -1 && errno == EINTR) result = call();
  return result;
}

template <class F>
int error_of(const F& call) {
  return repeated(call) == 0 ? 0 : errno;
}

int sync_descriptor(int fd) {
  const int error = error_of([&] { return fsync(fd); });
  return error == EINVAL ? 0 : error;  // a file system that has nothing to flush
}

}  // namespace

Folder::Folder(const std::filesystem::path& path)
    : fd_(repeated([&] { return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC); })),
      path_(path) {
  if (fd_ < 0)
    unwritable("OE0703", path,
               std::string("cannot write into this folder: ") + std::strerror(errno));
}

Folder::Folder(const Folder& parent, const std::string& name)
    : fd_(parent.open(name, O_RDONLY | O_DIRECTORY)), path_(parent.path_ / name) {}

Folder::Folder(Folder&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)), path_(std::move(other.path_)) {}

Folder& Folder::operator=(Folder&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(path_, other.path_);
  return *this;
}

Folder::~Folder() {
  if (fd_ >= 0) close(fd_);
}

std::optional<struct stat> Folder::status(const std::string& name) const {
  struct stat s {};
  if (fstatat(fd_, name.c_str(), &s, AT_SYMLINK_NOFOLLOW) != 0) return std::nullopt;
  return s;
}

bool Folder::has_file(const std::string& name) const {
  const auto s = status(name);
  return s && S_ISREG(s->st_mode);
}

std::optional<std::vector<std::string>> Folder::names() const {
  std::vector<std::string> all;
  const int fd = open(".", O_RDONLY | O_DIRECTORY);
  DIR* entries = fd < 0 ? nullptr : fdopendir(fd);
  if (!entries) {
    if (fd >= 0) close(fd);
    return std::nullopt;
  }
  errno = 0;
  while (const dirent* e = readdir(entries)) {
    const std::string name = e->d_name;
    if (name != "." && name != "..") all.push_back(name);
  }
  const bool failed = errno != 0;
  closedir(entries);
  if (failed) return std::nullopt;
  std::ranges::sort(all);
  return all;
}

int Folder::open(const std::string& name, int flags, mode_t mode) const {
  return repeated([&] { return openat(fd_, name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW, mode); });
}

int Folder::make_folder(const std::string& name, mode_t mode) const {
  return error_of([&] { return mkdirat(fd_, name.c_str(), mode); });
}

int Folder::remove(const std::string& name) const {
  return error_of([&] { return unlinkat(fd_, name.c_str(), 0); });
}

int Folder::remove_tree(const std::string& name, const std::string& last) const {
  const Folder inner(*this, name);
  if (!inner.is_open()) return errno;
  for (const std::string& entry : inner.names().value_or(std::vector<std::string>())) {
    if (entry == last) continue;
    const auto s = inner.status(entry);
    if (s && S_ISDIR(s->st_mode))
      inner.remove_tree(entry);
    else
      inner.remove(entry);
  }
  // Only when nothing else is left: the file tells a later run what to do with the rest.
  if (!last.empty() && inner.names() == std::vector<std::string>{last}) inner.remove(last);
  return error_of([&] { return unlinkat(fd_, name.c_str(), AT_REMOVEDIR); });
}

int Folder::move(const std::string& name, const Folder& to, const std::string& new_name,
                 bool replace) const {
  if (!replace) {
    const int error = error_of(
        [&] { return renameat2(fd_, name.c_str(), to.fd_, new_name.c_str(), RENAME_NOREPLACE); });
    if (error != EINVAL && error != ENOSYS) return error;
    // A file system without that flag. A link is not made over an existing file either.
    if (linkat(fd_, name.c_str(), to.fd_, new_name.c_str(), 0) == 0) {
      remove(name);
      return 0;
    }
    if (errno == EEXIST) return EEXIST;
    if (to.status(new_name)) return EEXIST;
  }
  return error_of([&] { return renameat(fd_, name.c_str(), to.fd_, new_name.c_str()); });
}

int Folder::sync() const { return sync_descriptor(fd_); }

int Folder::sync_file(const std::string& name) const {
  const int fd = open(name, O_RDONLY | O_NONBLOCK);
  if (fd < 0) return errno;
  int error = sync_descriptor(fd);
  if (close(fd) != 0 && errno != EINTR && !error) error = errno;
  return error;
}

}  // namespace oe::app
