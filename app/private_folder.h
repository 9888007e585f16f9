// A folder for files that are not finished, inside the folder they are for; the lock on the output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "app/folder.h"
#include "app/owner_record.h"
#include "app/supervise/descriptor.h"

namespace oe::app {

// Every private folder's name begins so.
constexpr const char* kPrivatePrefix = ".onnx-export-";

// Made for the names that a process writes in a folder: two processes never have one for the same
// name at a time. The lock is on a file inside, so that it ends with the process, however that
// ends, and nothing of it stays on the disk. What dead processes left is removed before.
class PrivateFolder {
 public:
  PrivateFolder() = default;  // none: is_open() is false, and nothing has an effect
  // `targets`: names inside `folder`. Waits up to 10 seconds for a process that writes one of them.
  // Throws Failure(Unwritable): OE0711 naming that process, OE0703 where the folder cannot be
  // written. Throws Interrupted where a signal comes while it waits.
  PrivateFolder(const std::filesystem::path& folder, std::vector<std::string> targets);
  PrivateFolder(PrivateFolder&&) noexcept = default;
  PrivateFolder& operator=(PrivateFolder&& other) noexcept;
  ~PrivateFolder() { remove(); }

  bool is_open() const { return inside_.is_open(); }
  const Folder& around() const { return around_; }
  const Folder& inside() const { return inside_; }
  // Makes a folder inside, for the worker: it must not write the owner's file. Throws
  // Failure(Unwritable, OE0703).
  Folder make_inside(const std::string& name, mode_t mode = 0700) const;

  // Adds to what a later run finds when this process is killed. Throws Failure(Unwritable, OE0705).
  void note(const OwnerRecord& more) const;
  void remove() noexcept;
  // Stays on the disk: a later run does what was noted.
  void leave() noexcept;

 private:
  void make(const std::vector<std::string>& targets);

  Folder around_, inside_;
  std::string name_;
  Descriptor owner_;  // of the owner's file, whose lock says that this process lives
};

// Throws Failure(Unwritable): "PATH: WHAT".
[[noreturn]] void unwritable(const char* code, const std::filesystem::path& path,
                             const std::string& what, const std::string& hint = {});

}  // namespace oe::app
