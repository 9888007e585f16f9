#include "tests/fuzz/support.h"

#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdlib>

#include "lib/support/diagnostics.h"

namespace oe::fuzz {
namespace {

void put(std::string& out, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i));
}

}  // namespace

int memory_file(std::string_view bytes) {
  const int fd = memfd_create("fuzz", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    std::abort();
  return fd;
}

EveryFile::EveryFile(std::string_view bytes) : bytes_(bytes) { set_file_access(*this); }

EveryFile::~EveryFile() {
  static FileAccess own;
  set_file_access(own);
}

int EveryFile::open_to_read(const std::filesystem::path&) { return memory_file(bytes_); }

// https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT
std::string archive_of(const std::vector<std::pair<std::string, std::string_view>>& records) {
  std::string out, directory;
  for (const auto& [name, content] : records) {
    const std::string path = "a/" + name;
    std::string common;
    put(common, 20, 2);
    put(common, 0, 8);  // flags, stored, time, date
    put(common, crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size()), 4);
    put(common, content.size(), 4);
    put(common, content.size(), 4);
    put(common, path.size(), 2);
    put(common, 0, 2);
    directory += std::string("PK\1\2\24\0", 6) + common;
    directory.append(10, '\0');
    put(directory, out.size(), 4);
    directory += path;
    out += "PK\3\4" + common + path;
    out += content;
  }
  const size_t begin = out.size();
  out += directory + std::string("PK\5\6\0\0\0\0", 8);
  put(out, records.size(), 2);
  put(out, records.size(), 2);
  put(out, directory.size(), 4);
  put(out, begin, 4);
  put(out, 0, 2);
  return out;
}

int run_expecting_failure(const std::function<void()>& read) try {
  read();
  return 0;
} catch (const Failure&) {
  return 0;
}

}  // namespace oe::fuzz
