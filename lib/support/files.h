// Reading of files without LibTorch: whole files, and the table of contents of a zip archive.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace oe {

// At most `limit` bytes from the start. Throws std::system_error with errno's text.
std::string read_file_prefix(const std::filesystem::path& path, size_t limit);
// The whole file. Throws std::system_error with errno's text.
std::string read_whole_file(const std::filesystem::path& path);

struct ZipEntry {
  std::string name;
  uint64_t header_offset = 0;  // of the local file header
  uint64_t size = 0;           // uncompressed
  uint64_t stored_size = 0;    // as it lies in the file
  uint16_t method = 0;         // 0: stored, 8: deflated
};
// The central directory (zip64 included); nullopt when it is missing or damaged, as in a file that
// was cut short.
std::optional<std::vector<ZipEntry>> zip_directory(const std::filesystem::path& path);
// Bytes of a stored entry, at most `limit`; nullopt when it is compressed or lies outside the file.
std::optional<std::string> zip_read(const std::filesystem::path& path, const ZipEntry& entry,
                                    size_t limit = SIZE_MAX);

}  // namespace oe
