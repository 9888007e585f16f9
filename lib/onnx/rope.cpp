// Protobuf wire format: varints, length-delimited fields, spliced payloads.
#include "lib/onnx/rope.h"

#include <cstring>

namespace oe::onnx {
namespace {

constexpr size_t kCopyBelow = 512;  // bytes; below this a splice costs more than a copy

size_t put_varint(char* out, uint64_t v) {
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) out[n++] = static_cast<char>(v | 0x80);
  out[n++] = static_cast<char>(v);
  return n;
}

}  // namespace

void Rope::varint(uint64_t v) {
  char buffer[10];
  small_.append(buffer, put_varint(buffer, v));
}

void Rope::integer(int field, int64_t value) {
  tag(field, 0);
  varint(static_cast<uint64_t>(value));
}

void Rope::float32(int field, float value) {
  tag(field, 5);
  char buffer[4];
  std::memcpy(buffer, &value, 4);
  small_.append(buffer, 4);
}

void Rope::bytes(int field, std::string_view value) {
  tag(field, 2);
  varint(value.size());
  small_.append(value);
}

void Rope::view(int field, const Tensor& data) {
  const size_t size = data.nbytes();
  if (size < kCopyBelow) return bytes(field, {static_cast<const char*>(data.data()), size});
  tag(field, 2);
  varint(size);
  splices_.push_back({small_.size(), &data});
  spliced_ += size;
}

Rope::Mark Rope::begin(int field) {
  tag(field, 2);
  return {small_.size(), splices_.size(), spliced_};
}

void Rope::end(const Mark& m) {
  const uint64_t length = (small_.size() - m.at) + (spliced_ - m.spliced);
  char buffer[10];
  const size_t n = put_varint(buffer, length);
  small_.insert(m.at, buffer, n);
  for (size_t i = m.splices; i < splices_.size(); ++i) splices_[i].at += n;
}

std::string Rope::flatten() const {
  std::string out;
  out.reserve(size());
  size_t done = 0;
  for (const Splice& s : splices_) {
    out.append(small_, done, s.at - done);
    s.data->stream(
        [&](const void* data, size_t size) { out.append(static_cast<const char*>(data), size); });
    done = s.at;
  }
  out.append(small_, done, std::string::npos);
  return out;
}

}  // namespace oe::onnx
