#include "lib/support/sha256.h"

#include <fcntl.h>
#include <nettle/sha2.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

namespace oe {
namespace {

class Digest {
 public:
  Digest() { sha256_init(&context_); }
  void add(const void* bytes, size_t count) {
    sha256_update(&context_, count, static_cast<const uint8_t*>(bytes));
  }
  std::string finish() {
    uint8_t bytes[SHA256_DIGEST_SIZE];
    sha256_digest(&context_, sizeof bytes, bytes);
    constexpr const char* digits = "0123456789abcdef";
    std::string text;
    for (const uint8_t b : bytes) text += {digits[b >> 4], digits[b & 15]};
    return text;
  }

 private:
  sha256_ctx context_;
};

}  // namespace

std::string sha256(std::string_view text) {
  Digest d;
  d.add(text.data(), text.size());
  return d.finish();
}

std::string sha256_of_file(int descriptor, const std::stop_token& stop) {
  struct stat s {};
  if (fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode)) return {};
  Digest d;
  std::vector<char> piece(size_t{1} << 20);
  for (off_t at = 0; !stop.stop_requested();) {
    const ssize_t n = pread(descriptor, piece.data(), piece.size(), at);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return {};
    if (n == 0) return d.finish();
    d.add(piece.data(), static_cast<size_t>(n));
    at += n;
  }
  return {};
}

DigestRun::DigestRun(int descriptor)
    // Deferred where there is no memory for a thread's stack.
    : done_(std::async(
          std::launch::async | std::launch::deferred,
          [descriptor, stop = stop_.get_token()] { return sha256_of_file(descriptor, stop); })) {}

}  // namespace oe
