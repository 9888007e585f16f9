#include "lib/archive/zip.h"

#include <zlib.h>

#include <algorithm>
#include <optional>

namespace oe::archive {
namespace {

constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
constexpr uint64_t kSaturated32 = 0xffffffff, kSaturated16 = 0xffff;
constexpr uint64_t kMostInflated = 1032;  // bytes that deflate can make of one

// Sizes and offset as 32 bits hold them; where they are full, the zip64 field has them, in this
// order.
struct Numbers {
  uint64_t size, stored_size, header = 0;
};

// False where a full one is not in the extra field.
bool take_zip64(std::string_view extra, Numbers& n) {
  std::vector<uint64_t*> wanted;
  for (uint64_t* v : {&n.size, &n.stored_size, &n.header})
    if (*v == kSaturated32) wanted.push_back(v);
  if (wanted.empty()) return true;
  for (size_t at = 0; at + 4 <= extra.size();) {
    const size_t id = little_endian(extra, at, 2), length = little_endian(extra, at + 2, 2);
    if (at + 4 + length > extra.size()) return false;
    if (id == 1) {
      if (length < 8 * wanted.size()) return false;
      for (size_t i = 0; i < wanted.size(); ++i)
        *wanted[i] = little_endian(extra, at + 4 + 8 * i, 8);
      return true;
    }
    at += 4 + length;
  }
  return false;
}

// Where the entries lie, and how many there are.
struct Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

Directory find_directory(const File& file) {
  const uint64_t size = file.size();
  // The end record is the last thing in the file but for a comment.
  const uint64_t tail_at = size - std::min<uint64_t>(size, kEndSize + kSaturated16);
  const std::string tail = file.read(tail_at, size - tail_at);
  std::optional<size_t> end;
  for (size_t at = tail.size() < kEndSize ? 0 : tail.size() - kEndSize + 1; at-- > 0 && !end;)
    if (tail.compare(at, 4, "PK\5\6") == 0 &&
        little_endian(tail, at + 20, 2) == tail.size() - at - kEndSize)
      end = at;
  if (!end) throw NoZip("has no end of a zip directory: it is damaged or truncated", size);
  uint64_t end_at = tail_at + *end;
  if (little_endian(tail, *end + 4, 4) != 0 ||
      little_endian(tail, *end + 8, 2) != little_endian(tail, *end + 10, 2))
    throw BadZip("is one part of a split archive", end_at);
  Directory d{little_endian(tail, *end + 16, 4), little_endian(tail, *end + 12, 4),
              little_endian(tail, *end + 10, 2)};
  const bool large =
      d.offset == kSaturated32 || d.size == kSaturated32 || d.entries == kSaturated16;
  // The zip64 end record may be there also where nothing needs it.
  const std::string locator = end_at >= 20 ? file.read(end_at - 20, 20) : "";
  if (locator.starts_with("PK\6\7")) {
    const uint64_t at = little_endian(locator, 8, 8);
    const std::string record = file.read(at, 56);
    if (record.size() != 56 || !record.starts_with("PK\6\6") || at + 56 > end_at - 20)
      throw BadZip("has no zip64 end record at the declared position", end_at - 20);
    const Directory wide{little_endian(record, 48, 8), little_endian(record, 40, 8),
                         little_endian(record, 32, 8)};
    if ((d.offset != kSaturated32 && d.offset != wide.offset) ||
        (d.size != kSaturated32 && d.size != wide.size) ||
        (d.entries != kSaturated16 && d.entries != wide.entries))
      throw BadZip("has two end records that contradict each other", at);
    d = wide;
    end_at = at;
  } else if (large) {
    throw BadZip("has no zip64 end record", end_at);
  }
  if (d.offset > end_at || d.size != end_at - d.offset)
    throw BadZip("has a directory that does not end where it should", d.offset);
  if (d.entries > kMostRecords)
    throw BadZip("has " + std::to_string(d.entries) + " records; at most " +
                     std::to_string(kMostRecords) + " are read",
                 d.offset);
  return d;
}

}  // namespace

Zip::Zip(File file) : file_(std::move(file)) {
  const Directory d = find_directory(file_);
  directory_ = d.offset;
  read_directory(d.offset, d.size, d.entries);
}

const Record* Zip::find(std::string_view name) const {
  const auto it = std::ranges::find(records_, name, &Record::name);
  return it == records_.end() ? nullptr : &*it;
}

void Zip::read_directory(uint64_t offset, uint64_t size, uint64_t entries) {
  const std::string bytes = file_.read(offset, size);
  size_t at = 0;
  for (uint64_t i = 0; i < entries; ++i) {
    const uint64_t where = offset + at;
    if (at + kEntrySize > bytes.size() || bytes.compare(at, 4, "PK\1\2") != 0)
      throw BadZip("has fewer records in its directory than it declares", where);
    const size_t name = little_endian(bytes, at + 28, 2), extra = little_endian(bytes, at + 30, 2),
                 comment = little_endian(bytes, at + 32, 2);
    if (at + kEntrySize + name + extra + comment > bytes.size())
      throw BadZip("has a truncated directory", where);
    Record r;
    r.name = bytes.substr(at + kEntrySize, name);
    const uint64_t flags = little_endian(bytes, at + 8, 2),
                   method = little_endian(bytes, at + 10, 2);
    if (flags & 1) throw BadZip("is encrypted", where, r.name);
    if (method != 0 && method != 8)
      throw BadZip("has an unknown compression method", where, r.name);
    r.deflated = method == 8;
    r.crc = static_cast<uint32_t>(little_endian(bytes, at + 16, 4));
    Numbers n{little_endian(bytes, at + 24, 4), little_endian(bytes, at + 20, 4),
              little_endian(bytes, at + 42, 4)};
    if (!take_zip64(std::string_view(bytes).substr(at + kEntrySize + name, extra), n))
      throw BadZip("has sizes that its directory lacks", where, r.name);
    r.size = n.size;
    r.stored_size = n.stored_size;
    r.header = n.header;
    if (!r.deflated && r.size != r.stored_size)
      throw BadZip("is stored, but has two sizes", where, r.name);
    records_.push_back(std::move(r));
    at += kEntrySize + name + extra + comment;
  }
  if (at != bytes.size()) throw BadZip("has extra data in its directory", offset + at);
}

void Zip::locate(Record& r) const {
  const std::string h = file_.read(r.header, kLocalSize + r.name.size());
  if (h.size() != kLocalSize + r.name.size() || !h.starts_with("PK\3\4"))
    throw BadZip("has no header at its position in the directory", r.header, r.name);
  const size_t extra = little_endian(h, 28, 2);
  if (little_endian(h, 26, 2) != r.name.size() || h.compare(kLocalSize, std::string::npos, r.name))
    throw BadZip("has another name in its header", r.header, r.name);
  if ((little_endian(h, 8, 2) == 8) != r.deflated || (little_endian(h, 6, 2) & 1))
    throw BadZip("has another compression in its header", r.header, r.name);
  r.offset = r.header + h.size() + extra;
  const bool described = little_endian(h, 6, 2) & 8;  // sizes and checksum stand behind the record
  Numbers n{little_endian(h, 22, 4), little_endian(h, 18, 4)};
  if (!take_zip64(file_.read(r.header + h.size(), extra), n) && !described)
    throw BadZip("has sizes that its header lacks", r.header, r.name);
  const auto differs = [&](uint64_t local, uint64_t central) {
    return local != central && !(described && (local == 0 || local == kSaturated32));
  };
  if (differs(n.size, r.size) || differs(n.stored_size, r.stored_size) ||
      differs(little_endian(h, 14, 4), r.crc))
    throw BadZip("has other sizes or another checksum in its header", r.header, r.name);
}

std::string Zip::read(const Record& r, bool compare) const {
  std::string stored = file_.read(r.offset, r.stored_size);
  if (stored.size() != r.stored_size)
    throw BadZip("was truncated while it was read", r.offset, r.name);
  std::string content;
  if (r.deflated) {
    if (r.size > kMostInflated * r.stored_size)
      throw BadZip("cannot be inflated to its declared size", r.offset, r.name);
    content.resize(r.size);
    z_stream z{};
    if (inflateInit2(&z, -MAX_WBITS) != Z_OK) throw std::bad_alloc();
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
    z.avail_in = static_cast<uInt>(stored.size());
    z.next_out = reinterpret_cast<Bytef*>(content.data());
    z.avail_out = static_cast<uInt>(content.size());
    const int end = inflate(&z, Z_FINISH);
    const bool whole = end == Z_STREAM_END && z.total_out == r.size && z.avail_in == 0;
    inflateEnd(&z);
    if (end == Z_MEM_ERROR) throw std::bad_alloc();
    if (!whole) throw BadZip("cannot be inflated to its declared size", r.offset, r.name);
  } else {
    content = std::move(stored);
  }
  if (!compare) return content;
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (static_cast<uint32_t>(crc) != r.crc)
    throw BadZip("does not match its checksum", r.offset, r.name);
  return content;
}

}  // namespace oe::archive
