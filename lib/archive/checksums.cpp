// Records are cut into pieces that threads take one by one; the checksum of a record is combined
// from those of its pieces.
#include "lib/archive/checksums.h"

#include <libdeflate.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace oe::archive {
namespace {

constexpr uint64_t kPiece = 8 << 20;  // bytes
// Read at a time: what was read is still in the processor's cache when it is summed.
constexpr uint64_t kRead = 256 << 10;
constexpr size_t kMostThreads = 4;

struct Piece {
  const Record* record;
  uint64_t offset, size;  // in the file
  uint32_t sum = 0;
};

void cut(const Record& r) { throw BadZip("was truncated while it was read", r.offset, r.name); }

uint32_t sum_of(const File& file, const Piece& p, std::string& buffer) {
  uint32_t sum = 0;
  for (uint64_t done = 0; done < p.size;) {
    const ssize_t n = pread(file.descriptor(), buffer.data(), std::min(kRead, p.size - done),
                            static_cast<off_t>(p.offset + done));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw std::system_error(errno, std::generic_category());
    if (n == 0) cut(*p.record);
    sum = libdeflate_crc32(sum, buffer.data(), static_cast<size_t>(n));
    done += static_cast<uint64_t>(n);
  }
  return sum;
}

// Runs over `pieces` until they are done or one fails.
class Summing {
 public:
  Summing(const File& file, std::vector<Piece>& pieces, const std::stop_token& stop)
      : file_(file), pieces_(pieces), stop_(stop) {}

  void run() {
    std::vector<std::jthread> others;
    const size_t wanted = std::min(
        {kMostThreads, pieces_.size(), size_t{std::max(1U, std::thread::hardware_concurrency())}});
    try {
      for (size_t i = 1; i < wanted; ++i) others.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
      // No memory or no number for a further thread: those there are do its work.
    }
    work();
    others.clear();  // joins
    if (failure_) std::rethrow_exception(failure_);
  }

 private:
  void work() {
    try {
      std::string buffer(kRead, '\0');
      for (size_t i; !stop_.stop_requested() && (i = next_++) < pieces_.size();)
        pieces_[i].sum = sum_of(file_, pieces_[i], buffer);
    } catch (...) {
      const std::lock_guard lock(mutex_);
      failure_ = std::current_exception();
      next_ = pieces_.size();
    }
  }

  const File& file_;
  std::vector<Piece>& pieces_;
  const std::stop_token& stop_;
  std::atomic<size_t> next_ = 0;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

}  // namespace

void check_sums(const Archive& archive, const std::stop_token& stop) try {
  std::vector<Piece> pieces;
  for (const Record& r : archive.records()) {
    if (r.deflated) {
      archive.read(r);  // compares its checksum; small by the archive's rules
      continue;
    }
    for (uint64_t at = 0; at < r.size; at += kPiece)
      pieces.push_back({&r, r.offset + at, std::min(kPiece, r.size - at)});
  }
  Summing(archive.file(), pieces, stop).run();
  if (stop.stop_requested()) return;
  for (size_t i = 0; i < pieces.size();) {
    const Record& r = *pieces[i].record;
    uint32_t sum = 0;
    for (; i < pieces.size() && pieces[i].record == &r; ++i)
      sum = static_cast<uint32_t>(
          crc32_combine(sum, pieces[i].sum, static_cast<z_off_t>(pieces[i].size)));
    if (sum != r.crc) throw BadZip("does not match its checksum", r.offset, r.name);
  }
} catch (const BadZip& e) {
  refuse(archive.path(), e);
}

ChecksumRun::ChecksumRun(const Archive& archive)
    : done_(std::async(std::launch::async,
                       [&archive, stop = stop_.get_token()] { check_sums(archive, stop); })) {}

}  // namespace oe::archive
