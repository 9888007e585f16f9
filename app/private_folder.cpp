// A folder for files that are not finished, inside the folder they are for; the lock on the output.
#include "app/private_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/random.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "app/remains.h"
#include "app/supervise/signals.h"
#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kPatience{10};
constexpr std::chrono::milliseconds kPause{50};

void pause_or_end() {
  std::this_thread::sleep_for(kPause);
  if (const int s = pending_signal()) throw Interrupted{s};
}

// Held while private folders are looked at and made, which takes milliseconds: a lock on the folder
// itself, which leaves nothing behind. A file system that has no such lock goes without: then two
// runs that start in the same milliseconds may both go on, and the later commit fails or replaces
// the earlier pair as a whole.
class FolderLock {
 public:
  FolderLock(const Folder& folder, Clock::time_point until) : fd_(folder.descriptor()) {
    while (!(held_ = flock(fd_, LOCK_EX | LOCK_NB) == 0)) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK || Clock::now() > until) return;
      pause_or_end();
    }
  }
  ~FolderLock() {
    if (held_) flock(fd_, LOCK_UN);
  }
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  bool held() const { return held_; }

 private:
  const int fd_;
  bool held_ = false;
};

std::string random_name() {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyz0123456789";
  unsigned char bytes[8] = {};
  if (getrandom(bytes, sizeof bytes, 0) < 0)
    std::memcpy(bytes, std::to_string(10000000 + getpid()).data(), sizeof bytes);
  std::string name = kPrivatePrefix;
  for (const unsigned char b : bytes) name += letters[b % letters.size()];
  return name;
}

[[noreturn]] void not_writable(const Folder& folder, int error) {
  unwritable("OE0703", folder.path(),
             std::string("cannot write into this folder: ") + std::strerror(error));
}

}  // namespace

PrivateFolder::PrivateFolder(const std::filesystem::path& folder, std::vector<std::string> targets)
    : around_(folder.empty() ? "." : folder) {
  const Clock::time_point until = Clock::now() + kPatience;
  for (;;) {
    {
      const FolderLock lock(around_, until);
      const std::string holder = clear_remains(around_, targets, lock.held());
      if (holder.empty()) {
        make(targets);
        return;
      }
      if (Clock::now() > until)
        unwritable("OE0711", around_.path() / targets.at(0),
                   "process " + holder + " (onnx-export) is writing this output",
                   "wait until it ends, or choose another output");
    }
    pause_or_end();
  }
}

PrivateFolder& PrivateFolder::operator=(PrivateFolder&& other) noexcept {
  remove();
  around_ = std::move(other.around_);
  inside_ = std::move(other.inside_);
  name_ = std::move(other.name_);
  owner_ = std::move(other.owner_);
  return *this;
}

void PrivateFolder::make(const std::vector<std::string>& targets) {
  int error = EEXIST;
  for (int tries = 0; error == EEXIST && tries < 100; ++tries) {
    name_ = random_name();
    error = around_.make_folder(name_, 0700);
  }
  if (error) not_writable(around_, error);
  const auto fail = [&](int cause) {
    unlinkat(around_.descriptor(), name_.c_str(), AT_REMOVEDIR);
    not_writable(around_, cause);
  };
  Folder inside(around_, name_);
  if (!inside.is_open()) fail(errno);
  Descriptor owner(inside.open(kOwnerFile, O_RDWR | O_CREAT | O_EXCL | O_APPEND));
  if (owner.get() < 0) fail(errno);
  // A file system without locks: no other run can tell that this one lives, and none removes it.
  flock(owner.get(), LOCK_EX | LOCK_NB);
  OwnerRecord record;
  record.pid = std::to_string(getpid());
  record.targets = targets;
  if ((error = append(owner.get(), to_text(record)))) {
    inside.remove(kOwnerFile);
    fail(error);
  }
  inside_ = std::move(inside);
  owner_ = std::move(owner);
}

Folder PrivateFolder::make_inside(const std::string& name, mode_t mode) const {
  if (const int error = inside_.make_folder(name, mode)) not_writable(inside_, error);
  Folder made(inside_, name);
  if (!made.is_open()) not_writable(inside_, errno);
  return made;
}

void PrivateFolder::note(const OwnerRecord& more) const {
  if (const int error = append(owner_.get(), to_text(more)))
    unwritable("OE0705", inside_.path(), std::strerror(error));
}

void PrivateFolder::remove() noexcept {
  if (!is_open()) return;
  around_.remove_tree(name_, kOwnerFile);
  leave();
}

void PrivateFolder::leave() noexcept {
  inside_ = Folder();
  owner_ = Descriptor();
}

void unwritable(const char* code, const std::filesystem::path& path, const std::string& what,
                const std::string& hint) {
  throw Failure(ExitCode::Unwritable, code, path.string() + ": " + what, hint);
}

}  // namespace oe::app
