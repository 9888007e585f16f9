// A fast 64-bit hash of bytes that come piece by piece. Not for secrets.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace oe {

// FNV-1a over words of eight bytes, folded so that high bits reach the low ones. The value depends
// on the bytes alone, not on where pieces begin and end.
class ByteHash {
 public:
  void add(std::string_view bytes) {
    while (!bytes.empty()) {
      if (filled_ == 0) {
        // Whole words need no buffer.
        for (; bytes.size() >= sizeof word_; bytes.remove_prefix(sizeof word_)) {
          std::memcpy(&word_, bytes.data(), sizeof word_);
          mix();
        }
      }
      const size_t n = std::min(bytes.size(), sizeof word_ - filled_);
      std::memcpy(reinterpret_cast<char*>(&word_) + filled_, bytes.data(), n);
      bytes.remove_prefix(n);
      filled_ += n;
      if (filled_ == sizeof word_) mix();
    }
  }
  uint64_t value() {
    if (filled_ > 0) mix();
    return hash_;
  }

 private:
  void mix() {
    hash_ = (hash_ ^ word_) * 0x100000001b3;
    hash_ ^= hash_ >> 32;
    word_ = 0;
    filled_ = 0;
  }
  uint64_t hash_ = 0xcbf29ce484222325, word_ = 0;
  size_t filled_ = 0;
};

}  // namespace oe
