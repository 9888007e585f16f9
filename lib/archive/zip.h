// The zip directory of a PyTorch archive, read strictly: what two readers could understand in two
// ways is refused. Reads headers and the records that are asked for, never the others, so that the
// size of a file does not matter. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace oe::archive {

struct Record {
  std::string name;          // below the archive's folder: "data.pkl", "code/__torch__.py"
  uint64_t header = 0;       // where its local header lies in the file
  uint64_t offset = 0;       // where its bytes lie
  uint64_t size = 0;         // of its content
  uint64_t stored_size = 0;  // of its bytes in the file
  uint32_t crc = 0;
  bool deflated = false;
};

// The most records an archive may have.
constexpr uint64_t kMostRecords = 100'000;

class Archive {
 public:
  // Throws Failure(Refused, OE0114) with the record's name and offset where
  //   - the directory is missing, does not fill the space before the end, or has other counts,
  //   - a name is empty, twice there, absolute, or has a NUL, a backslash or "..", or another top
  //     folder than the others,
  //   - a local header says something else than the directory (but for data descriptors),
  //   - records overlap each other or the directory, or lie outside the file,
  //   - a record is encrypted or compressed in another way than deflate,
  //   - what is compressed says that it is larger than 64 MiB and 20 times its bytes.
  explicit Archive(const std::filesystem::path& path);
  ~Archive();

  const std::string& folder() const { return folder_; }
  const std::vector<Record>& records() const { return records_; }  // in the directory's order
  const Record* find(std::string_view name) const;                 // null: there is none
  // Its content, inflated, with the checksum compared. Throws as the constructor does.
  std::string read(const Record& r) const;

 private:
  struct Directory;
  class File;
  [[noreturn]] void refuse(const std::string& what, uint64_t offset,
                           const std::string& record = {}) const;
  Directory find_directory() const;
  void read_directory(const Directory& d);
  std::string check_name(const std::string& name, uint64_t at);
  void check_local_header(Record& r, const std::string& full_name) const;
  void check_places(uint64_t directory) const;
  void check_compression() const;

  std::filesystem::path path_;
  std::unique_ptr<File> file_;
  std::string folder_;
  std::vector<Record> records_;
  std::unordered_map<std::string, size_t> by_name_;
};

}  // namespace oe::archive
