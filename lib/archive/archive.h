// The archive that torch.jit.save writes, read strictly: refuses bytes that two readers could
// interpret differently.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "lib/archive/zip.h"

namespace oe::archive {

// Throws Failure(Refused, OE0114) with the broken place of the archive at `path`.
[[noreturn]] void refuse(const std::filesystem::path& path, const BadZip& e);

// Bytes of a record that is read as a whole: pickles and code, no tensors.
constexpr uint64_t kLargestRead = 256 << 20;

class Archive {
 public:
  // Throws Failure(Refused, OE0114) with the record's name and offset where zip.h would throw, or
  //   - a name is empty, twice there, absolute, or has a NUL, a backslash or "..", or another top
  //     folder than the others,
  //   - records overlap each other or the directory, or lie outside the file,
  //   - what is compressed says that it is larger than 64 MiB and 20 times its bytes.
  explicit Archive(const std::filesystem::path& path);
  // `file` and `zip` of the file that messages call `path`.
  Archive(const std::filesystem::path& path, File file);
  Archive(const std::filesystem::path& path, Zip zip);

  const std::filesystem::path& path() const { return path_; }
  const File& file() const { return zip_.file(); }
  const std::string& folder() const { return folder_; }
  // In the directory's order; their names are those below the archive's folder: "data.pkl".
  const std::vector<Record>& records() const { return records_; }
  const Record* find(std::string_view name) const;  // null: there is none
  // Its content, inflated, with the checksum compared. Throws as the constructor does, and where
  // it has more than kLargestRead.
  std::string read(const Record& r, bool compare = true) const;
  // The format's version ("version"); 0 when it does not say.
  uint64_t version() const;

 private:
  std::string check_name(const std::string& name, uint64_t at);
  void check_places() const;
  void check_compression() const;

  std::filesystem::path path_;
  Zip zip_;
  std::string folder_;
  std::vector<Record> records_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace oe::archive
