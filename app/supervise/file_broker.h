// Opens for a confined worker the files that its command line names, and no others.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/file_protocol.h"
#include "app/supervise/descriptor.h"
#include "lib/support/files.h"

namespace oe::app {

// The files of the supervisor: a file that is pinned is opened once, and every later opening of its
// path, here or for the worker, is of that same file, whatever lies at the path by then.
class PinnedFiles : public FileAccess {
 public:
  // Does nothing where the file cannot be opened: whoever reads it reports why.
  void pin(const std::filesystem::path& path);
  // Null: the path is not pinned.
  const Descriptor* pinned(const std::filesystem::path& path) const;
  uint64_t pinned_bytes() const;  // of all of them
  void limit_size(uint64_t largest) { largest_ = largest; }

  int open_to_read(const std::filesystem::path& path) override;
  uint64_t largest_file() const override { return largest_; }

 private:
  std::map<std::string, Descriptor> pinned_;
  uint64_t largest_ = UINT64_MAX;
};

class FileBroker {
 public:
  explicit FileBroker(PinnedFiles& files) : files_(files) {}

  void may_read(const std::string& path) { read_.insert(path); }
  // The file, and external data: it lies beside an ONNX file, under names that the file has.
  void may_read_onnx(const std::filesystem::path& file);
  // Anything below `folder`, but not through symbolic links.
  void may_read_below(const std::filesystem::path& folder) { below_.push_back(folder); }
  // `folder` is the worker's to fill and to read; it may be empty (nothing is allowed).
  void may_write_below(const std::filesystem::path& folder);

  FileAnswer answer(const FileRequest& r);

 private:
  struct Folder {
    std::filesystem::path path;
    Descriptor descriptor;
  };
  FileAnswer read(const std::string& path);
  FileAnswer write(const FileRequest& r);

  PinnedFiles& files_;
  std::set<std::string> read_;
  std::vector<std::filesystem::path> below_;
  std::vector<Folder> write_;
  size_t requests_ = 0;
};

}  // namespace oe::app
