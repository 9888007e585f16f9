// Zip files: the directory and the records that are asked for, never the others, so that the size
// of a file does not matter. https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
#pragma once

#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/files.h"

namespace oe::archive {

struct Record {
  std::string name;
  uint64_t header = 0;       // where its local header lies in the file
  uint64_t offset = 0;       // where its bytes lie; set by Zip::locate
  uint64_t size = 0;         // of its content
  uint64_t stored_size = 0;  // of its bytes in the file
  uint32_t crc = 0;
  bool deflated = false;
};

struct BadZip : std::runtime_error {
  BadZip(const std::string& what, uint64_t at, std::string record_ = {})
      : std::runtime_error(what), offset(at), record(std::move(record_)) {}
  uint64_t offset;     // in the file
  std::string record;  // empty: the file as a whole
};

// It has no end of a directory: it is no zip file, or was cut short.
struct NoZip : BadZip {
  using BadZip::BadZip;
};

// The most records that are read.
constexpr uint64_t kMostRecords = 100'000;

class Zip {
 public:
  // Throws NoZip; BadZip where the directory does not fill the space before the end, has other
  // counts or contradicts itself, or where a record is encrypted or compressed in another way than
  // deflate; std::system_error where the file cannot be read.
  explicit Zip(const std::filesystem::path& path) : Zip(File(path)) {}
  explicit Zip(File file);

  const File& file() const { return file_; }
  const std::vector<Record>& records() const { return records_; }  // in the directory's order
  uint64_t directory() const { return directory_; }                // where it begins
  const Record* find(std::string_view name) const;                 // null: there is none
  // Finds the record's bytes. Throws BadZip where its local header says something else than the
  // directory (but for data descriptors).
  void locate(Record& r) const;
  // The content of a record, inflated, with the checksum compared unless told otherwise. Throws
  // BadZip.
  std::string read(const Record& r, bool compare = true) const;

 private:
  void read_directory(uint64_t offset, uint64_t size, uint64_t entries);

  File file_;
  std::vector<Record> records_;
  uint64_t directory_ = 0;
};

}  // namespace oe::archive
