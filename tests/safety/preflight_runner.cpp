// The preflight reader alone, on files and on every small change of one.
//
//   preflight_tests FILE...             prints "CODE FILE: message" for each; 0: accepted
//   preflight_tests --sums FILE...      the same and the checksum of every record, with its time
//   preflight_tests --mutations FILE... every cut and every flipped bit of each, and every flipped
//                                       bit of headers, pickles and code with right checksums;
//                                       prints how many were refused and accepted
//
// A change that ends the process, or throws what no caller expects, fails.
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "lib/archive/checksums.h"
#include "lib/archive/recognise.h"
#include "lib/archive/summary.h"
#include "lib/support/diagnostics.h"
#include "lib/support/files.h"

namespace {

using oe::archive::Archive;
using oe::archive::Record;

// A file in memory. The descriptor belongs to the caller.
int file_of(std::string_view bytes) {
  const int fd = memfd_create("mutation", MFD_CLOEXEC);
  if (fd < 0 || write(fd, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
    throw std::runtime_error("cannot make a file in memory");
  return fd;
}

// The exit code of the preflight; 0 where it accepts the file. Throws what it must not throw.
int preflight(std::string_view bytes, std::string* message = nullptr) try {
  const Archive a = oe::archive::require_torchscript("m.pt", oe::File(file_of(bytes), "m.pt"));
  oe::archive::summarise(a);
  oe::archive::check_sums(a);
  return 0;
} catch (const oe::Failure& e) {
  if (message) *message = e.what();
  return static_cast<int>(e.exit_code);
}

// Opens the file itself, however large it is.
void sums(const char* file) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  std::string result = "accepted";
  auto checked = start;
  try {
    const Archive a = oe::archive::require_torchscript(file);
    checked = Clock::now();
    oe::archive::check_sums(a);
  } catch (const oe::Failure& e) {
    result = e.what();
  }
  const auto ms = [](Clock::duration d) {
    return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(d).count()) + " ms";
  };
  std::cout << file << ": preflight " << ms(checked - start) << ", checksums "
            << ms(Clock::now() - checked) << ": " << result << "\n";
}

using Counts = std::map<int, long>;

void put(std::string& bytes, size_t at, uint64_t value, size_t width) {
  for (size_t i = 0; i < width; ++i) bytes[at + i] = static_cast<char>(value >> (8 * i));
}

// Gives a record the checksum of what it has now, in both of its headers.
void correct_checksum(std::string& bytes, const Record& r, size_t central) {
  const auto* content = reinterpret_cast<const Bytef*>(bytes.data() + r.offset);
  const uLong crc = crc32_z(0, content, r.size);
  put(bytes, r.header + 14, crc, 4);
  put(bytes, central + 16, crc, 4);
}

// Where the directory's entry of each record lies.
std::vector<size_t> entries(const std::string& bytes) {
  std::vector<size_t> found;
  for (size_t at = bytes.find("PK\1\2"); at != std::string::npos; at = bytes.find("PK\1\2", at + 4))
    found.push_back(at);
  return found;
}

Counts mutate(const std::string& good) {
  Counts counts;
  std::string bytes = good;
  for (size_t length = 0; length < good.size(); ++length)
    ++counts[preflight(std::string_view(good).substr(0, length))];
  for (size_t i = 0; i < 8 * good.size(); ++i) {
    bytes[i / 8] ^= static_cast<char>(1 << i % 8);
    ++counts[preflight(bytes)];
    bytes[i / 8] = good[i / 8];
  }
  const Archive a = oe::archive::require_torchscript("m.pt", oe::File(file_of(good), "m.pt"));
  const std::vector<size_t> central = entries(good);
  for (size_t n = 0; n < a.records().size(); ++n) {
    const Record& r = a.records()[n];
    if (r.deflated || (r.name.find("/") != std::string::npos && !r.name.ends_with(".py"))) continue;
    for (uint64_t i = 8 * r.offset; i < 8 * (r.offset + r.size); ++i) {
      bytes[i / 8] ^= static_cast<char>(1 << i % 8);
      correct_checksum(bytes, r, central[n]);
      ++counts[preflight(bytes)];
      bytes[i / 8] = good[i / 8];
    }
    bytes = good;
  }
  return counts;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 1 && argv[1][0] == '-' ? argv[1] : "";
  const bool mutations = mode == "--mutations";
  long passed = 0, failed = 0;
  Counts all;
  const auto start = std::chrono::steady_clock::now();
  for (int i = mode.empty() ? 1 : 2; i < argc; ++i) {
    try {
      if (mode == "--sums") {
        sums(argv[i]);
        ++passed;
        continue;
      }
      const std::string bytes = oe::read_whole_file(argv[i]);
      if (mutations) {
        for (const auto& [code, n] : mutate(bytes)) {
          all[code] += n;
          (code == 0 || code == 3 || code == 4 ? passed : failed) += n;
        }
      } else {
        std::string message;
        const int code = preflight(bytes, &message);
        std::cout << code << " " << argv[i] << ": " << message << "\n";
        ++passed;
      }
    } catch (const std::exception& e) {
      std::cout << "FAIL " << argv[i] << ": " << e.what() << "\n";
      ++failed;
    }
  }
  const std::chrono::duration<double> time = std::chrono::steady_clock::now() - start;
  if (mutations) {
    std::cout << "exit codes:";
    for (const auto& [code, n] : all) std::cout << " " << code << ": " << n;
    std::cout << "; " << static_cast<long>(static_cast<double>(passed + failed) / time.count())
              << " a second\n";
  }
  std::cout << passed << " passed, " << failed << " failed\n";
  return failed ? 1 : 0;
}
