// Shared by the fuzz targets: files in memory, archives around one record, expected failures.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/support/files.h"

namespace oe::fuzz {

// A file in memory with these bytes; the descriptor belongs to the caller.
int memory_file(std::string_view bytes);

// While it lives every file that is opened has these bytes.
class EveryFile : public FileAccess {
 public:
  explicit EveryFile(std::string_view bytes);
  ~EveryFile() override;
  int open_to_read(const std::filesystem::path& path) override;

 private:
  std::string_view bytes_;
};

// A stored zip archive with right checksums, every record below one folder.
std::string archive_of(const std::vector<std::pair<std::string, std::string_view>>& records);

// Runs `read`, which may throw Failure and nothing else; always 0, as libFuzzer wants.
int run_expecting_failure(const std::function<void()>& read);

}  // namespace oe::fuzz
