// A directory that is held open. Names are relative to it, and symbolic links are not followed.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace oe::app {

// The operations give 0 or errno. A call that a signal interrupts is repeated.
class Folder {
 public:
  Folder() = default;  // none: every operation gives EBADF
  // Throws Failure(Unwritable, OE0703) with errno's text.
  explicit Folder(const std::filesystem::path& path);
  // The directory `name` inside `parent`; check is_open().
  Folder(const Folder& parent, const std::string& name);
  Folder(Folder&& other) noexcept;
  Folder& operator=(Folder&& other) noexcept;
  ~Folder();

  bool is_open() const { return fd_ >= 0; }
  int descriptor() const { return fd_; }
  const std::filesystem::path& path() const { return path_; }

  std::optional<struct stat> status(const std::string& name) const;  // nothing where it is absent
  bool has_file(const std::string& name) const;                      // a regular one
  // Sorted; nothing where they cannot be read.
  std::optional<std::vector<std::string>> names() const;

  // A descriptor that is closed on exec; -1 and errno on failure.
  int open(const std::string& name, int flags, mode_t mode = 0600) const;
  int make_folder(const std::string& name, mode_t mode) const;
  int remove(const std::string& name) const;  // a file
  // A folder with everything in it; `last`: the file in it that goes after all others.
  int remove_tree(const std::string& name, const std::string& last = {}) const;
  // Moves `name` into `to` as `new_name`. Without `replace` an existing file is EEXIST.
  int move(const std::string& name, const Folder& to, const std::string& new_name,
           bool replace) const;
  // Flushes the folder's own entries, or the file `name`, to the disk.
  int sync() const;
  int sync_file(const std::string& name) const;

 private:
  int fd_ = -1;
  std::filesystem::path path_;
};

}  // namespace oe::app
