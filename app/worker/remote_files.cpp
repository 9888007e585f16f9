// The files of a confined worker: the supervisor opens each one that the command line names.
#include "app/worker/remote_files.h"

#include <fcntl.h>

#include <cerrno>

#include "app/file_protocol.h"

namespace oe::app {

RemoteFiles::RemoteFiles(const RunLimits& limits)
    : pages_(open(kPageMap, O_RDONLY | O_CLOEXEC)), largest_(limits.size) {}

int RemoteFiles::ask(FileRequest::Kind kind, const std::filesystem::path& path) {
  const std::lock_guard<std::mutex> lock(one_at_a_time_);
  errno = ENAMETOOLONG;
  if (path.native().size() > kLongestPath) return -1;
  errno = EPIPE;
  if (!send_request(kFilesFd, {kind, path})) return -1;
  const std::optional<FileAnswer> answer = receive_answer(kFilesFd);
  errno = answer ? answer->error : EPIPE;
  if (errno) return -1;
  return answer->descriptor < 0 ? 0 : answer->descriptor;
}

int RemoteFiles::open_to_read(const std::filesystem::path& path) {
  if (path == kPageMap) return fcntl(pages_, F_DUPFD_CLOEXEC, 0);
  return ask(FileRequest::Kind::Read, path);
}

int RemoteFiles::open_to_write(const std::filesystem::path& path, bool append) {
  return ask(append ? FileRequest::Kind::Append : FileRequest::Kind::Create, path);
}

int RemoteFiles::make_folder(const std::filesystem::path& path) {
  return ask(FileRequest::Kind::MakeFolder, path);
}

}  // namespace oe::app
