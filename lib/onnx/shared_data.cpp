// A file of external data that several models refer to: equal bytes are in it once.
#include "lib/onnx/shared_data.h"

#include <algorithm>
#include <string_view>

#include "lib/support/byte_hash.h"
#include "lib/support/files.h"

namespace oe::onnx {
namespace {

uint64_t hash_of(const Tensor& t) {
  ByteHash hash;
  t.stream([&](const void* data, size_t size) {
    hash.add({static_cast<const char*>(data), size});
  });
  return hash.value();
}

bool stands_at(const Tensor& t, const File& file, uint64_t offset) {
  constexpr size_t piece = 1 << 20;
  bool same = true;
  t.stream([&](const void* data, size_t size) {
    std::string_view rest(static_cast<const char*>(data), size);
    for (; same && !rest.empty(); rest.remove_prefix(std::min(piece, rest.size()))) {
      const std::string_view wanted = rest.substr(0, piece);
      same = file.read(offset, wanted.size()) == wanted;
      offset += wanted.size();
    }
  });
  return same;
}

}  // namespace

std::optional<uint64_t> SharedData::find(const Tensor& t, const std::filesystem::path& file) const {
  if (places_.empty()) return std::nullopt;
  const auto [begin, end] = places_.equal_range({t.nbytes(), hash_of(t)});
  if (begin == end) return std::nullopt;
  const File data(file);
  for (auto it = begin; it != end; ++it)
    if (stands_at(t, data, it->second)) return it->second;
  return std::nullopt;
}

void SharedData::written(const Tensor& t, uint64_t offset) {
  places_.emplace(Key{t.nbytes(), hash_of(t)}, offset);
  size_ = std::max(size_, offset + t.nbytes());
}

}  // namespace oe::onnx
