// Opens for a confined worker the files that its command line names, and no others.
#include "app/supervise/file_broker.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace oe::app {
namespace {

namespace fs = std::filesystem;

// More requests than any conversion makes; each may create a file.
constexpr size_t kMostRequests = 100'000;

// The part of `path` below `folder`; empty where it lies elsewhere, or leaves it by "..".
fs::path below(const fs::path& path, const fs::path& folder) {
  auto at = path.begin();
  for (const fs::path& part : folder) {
    if (part.empty()) continue;  // of a slash at the end
    if (at == path.end() || *at != part) return {};
    ++at;
  }
  fs::path rest;
  for (; at != path.end(); ++at) {
    if (*at == ".." || at->is_absolute()) return {};
    rest /= *at;
  }
  return rest;
}

FileAnswer opened(int fd) { return fd < 0 ? FileAnswer{errno, -1} : FileAnswer{0, fd}; }

// Follows no link on the way to `path` below `folder`, nor at its end.
FileAnswer open_below(int folder, const fs::path& path, int flags, mode_t mode = 0) {
  Descriptor at(fcntl(folder, F_DUPFD_CLOEXEC, 0));
  for (const fs::path& part : path.parent_path()) {
    Descriptor next(openat(at.get(), part.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next) return {errno, -1};
    at = std::move(next);
  }
  return opened(openat(at.get(), path.filename().c_str(), flags | O_NOFOLLOW | O_CLOEXEC, mode));
}

constexpr int kReading = O_RDONLY | O_NONBLOCK;

}  // namespace

void PinnedFiles::pin(const fs::path& path) {
  if (Descriptor d(FileAccess::open_to_read(path)); d) pinned_[path.string()] = std::move(d);
}

const Descriptor* PinnedFiles::pinned(const fs::path& path) const {
  const auto it = pinned_.find(path.string());
  return it == pinned_.end() ? nullptr : &it->second;
}

uint64_t PinnedFiles::pinned_bytes() const {
  uint64_t bytes = 0;
  for (const auto& [path, d] : pinned_) {
    struct stat s {};
    if (fstat(d.get(), &s) == 0 && S_ISREG(s.st_mode)) bytes += static_cast<uint64_t>(s.st_size);
  }
  return bytes;
}

int PinnedFiles::open_to_read(const fs::path& path) {
  if (const Descriptor* d = pinned(path)) return fcntl(d->get(), F_DUPFD_CLOEXEC, 0);
  return FileAccess::open_to_read(path);
}

void FileBroker::may_read_onnx(const fs::path& file) {
  may_read(file.string());
  may_read_below(file.parent_path());
}

void FileBroker::may_write_below(const fs::path& folder) {
  if (folder.empty()) return;
  Descriptor d(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (d) write_.push_back({folder, std::move(d)});
}

FileAnswer FileBroker::answer(const FileRequest& r) {
  if (++requests_ > kMostRequests) return {EMFILE, -1};
  // A NUL would end the path that the kernel sees.
  if (r.path.empty() || r.path.find('\0') != std::string::npos) return {EINVAL, -1};
  return r.kind == FileRequest::Kind::Read ? read(r.path) : write(r);
}

FileAnswer FileBroker::read(const std::string& path) {
  if (read_.contains(path)) return opened(files_.open_to_read(path));
  for (const Folder& f : write_)
    if (const fs::path rest = below(path, f.path); !rest.empty())
      return open_below(f.descriptor.get(), rest, kReading);
  for (const fs::path& folder : below_)
    if (const fs::path rest = below(path, folder); !rest.empty()) {
      const Descriptor d(
          open(folder.empty() ? "." : folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
      return d ? open_below(d.get(), rest, kReading) : FileAnswer{errno, -1};
    }
  return {EACCES, -1};
}

FileAnswer FileBroker::write(const FileRequest& r) {
  constexpr mode_t kFileMode = 0666, kFolderMode = 0777;  // the umask of the user applies
  for (const Folder& f : write_) {
    const fs::path rest = below(r.path, f.path);
    if (rest.empty()) continue;
    if (r.kind == FileRequest::Kind::MakeFolder)
      return {mkdirat(f.descriptor.get(), rest.c_str(), kFolderMode) == 0 ? 0 : errno, -1};
    const int end = r.kind == FileRequest::Kind::Append ? 0 : O_TRUNC;
    return open_below(f.descriptor.get(), rest, O_WRONLY | O_CREAT | end, kFileMode);
  }
  return {EACCES, -1};
}

}  // namespace oe::app
