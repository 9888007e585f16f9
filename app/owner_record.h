// The file in a private folder that says whose it is, and what to do with it when that process
// dies.
#pragma once

#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "app/folder.h"

namespace oe::app {

// The process holds a lock (flock) on this file for as long as it lives.
constexpr const char* kOwnerFile = ".onnx-export-owner";

// A file of the output folder, by name and identity: another file of that name is left alone.
struct KnownFile {
  dev_t device = 0;
  ino_t inode = 0;
  std::string name;
};

struct OwnerRecord {
  std::string pid;
  std::vector<std::string> targets;  // names in the output folder that the process writes
  std::vector<KnownFile> remains;    // removed after its death, unless a model names them
  std::vector<KnownFile> commits;    // a file at this absolute path: the process had committed
};

// Fields that end with NUL, since names may hold any other byte. A record is written piece by
// piece, so the text of one may be appended to that of another.
std::string to_text(const OwnerRecord& r);
// Fields that it does not know, or that were cut, are left out.
OwnerRecord owner_record(std::string_view text);

// 0 or errno; all of `text`, at the end of the file.
int append(int descriptor, std::string_view text);
// At most 1 MiB; what could not be read is left out.
std::string contents(int descriptor);

KnownFile known_file(const std::string& name, const struct stat& s);
bool is_same(const KnownFile& f, const struct stat& s);

}  // namespace oe::app
