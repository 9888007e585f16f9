#include "lib/archive/zip.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <optional>
#include <system_error>

#include "lib/support/diagnostics.h"

namespace oe::archive {
namespace {

constexpr uint64_t kMostCompressed = 64 << 20;  // bytes, or this many times what is stored:
constexpr uint64_t kMostRatio = 20;

constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
constexpr uint64_t kSaturated32 = 0xffffffff, kSaturated16 = 0xffff;

uint64_t number(std::string_view bytes, size_t at, size_t width) {
  uint64_t v = 0;
  for (size_t i = width; i-- > 0;) v = v << 8 | static_cast<unsigned char>(bytes[at + i]);
  return v;
}

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
    const size_t id = number(extra, at, 2), length = number(extra, at + 2, 2);
    if (at + 4 + length > extra.size()) return false;
    if (id == 1) {
      if (length < 8 * wanted.size()) return false;
      for (size_t i = 0; i < wanted.size(); ++i) *wanted[i] = number(extra, at + 4 + 8 * i, 8);
      return true;
    }
    at += 4 + length;
  }
  return false;
}

}  // namespace

// Where the entries lie, and how many there are.
struct Archive::Directory {
  uint64_t offset = 0, size = 0, entries = 0;
};

class Archive::File {
 public:
  explicit File(const std::filesystem::path& path) : fd_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat s {};
    if (fd_ < 0 || fstat(fd_, &s) != 0) throw std::system_error(errno, std::generic_category());
    size_ = static_cast<uint64_t>(s.st_size);
  }
  ~File() { close(fd_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  uint64_t size() const { return size_; }
  // Fewer bytes where the file ends, or has become shorter.
  std::string read(uint64_t offset, uint64_t count) const {
    if (offset >= size_) return {};
    std::string bytes(std::min(count, size_ - offset), '\0');
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t n =
          pread(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) throw std::system_error(errno, std::generic_category());
      if (n == 0) break;
      done += static_cast<size_t>(n);
    }
    bytes.resize(done);
    return bytes;
  }

 private:
  int fd_;
  uint64_t size_ = 0;
};

Archive::Archive(const std::filesystem::path& path)
    : path_(path), file_(std::make_unique<File>(path)) {
  const Directory d = find_directory();
  read_directory(d);
  check_places(d.offset);
  check_compression();
}

Archive::~Archive() = default;

const Record* Archive::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &records_[it->second];
}

void Archive::refuse(const std::string& what, uint64_t offset, const std::string& record) const {
  throw Failure(ExitCode::Refused, "OE0114",
                path_.string() + ": " + (record.empty() ? "the archive" : "record " + record) +
                    " (at byte " + std::to_string(offset) + ") " + what,
                "copy the file again, or save it again");
}

Archive::Directory Archive::find_directory() const {
  const uint64_t size = file_->size();
  // The end record is the last thing in the file but for a comment.
  const uint64_t tail_at = size - std::min<uint64_t>(size, kEndSize + kSaturated16);
  const std::string tail = file_->read(tail_at, size - tail_at);
  std::optional<size_t> end;
  for (size_t at = tail.size() < kEndSize ? 0 : tail.size() - kEndSize + 1; at-- > 0 && !end;)
    if (tail.compare(at, 4, "PK\5\6") == 0 &&
        number(tail, at + 20, 2) == tail.size() - at - kEndSize)
      end = at;
  if (!end) refuse("has no end of a zip directory: it is damaged or was cut short", size);
  uint64_t end_at = tail_at + *end;
  if (number(tail, *end + 4, 4) != 0 || number(tail, *end + 8, 2) != number(tail, *end + 10, 2))
    refuse("is one of several parts", end_at);
  Directory d{number(tail, *end + 16, 4), number(tail, *end + 12, 4), number(tail, *end + 10, 2)};
  const bool large =
      d.offset == kSaturated32 || d.size == kSaturated32 || d.entries == kSaturated16;
  // The zip64 end record may be there also where nothing needs it.
  const std::string locator = end_at >= 20 ? file_->read(end_at - 20, 20) : "";
  if (locator.starts_with("PK\6\7")) {
    const uint64_t at = number(locator, 8, 8);
    const std::string record = file_->read(at, 56);
    if (record.size() != 56 || !record.starts_with("PK\6\6") || at + 56 > end_at - 20)
      refuse("has no zip64 end record where it says so", end_at - 20);
    const Directory wide{number(record, 48, 8), number(record, 40, 8), number(record, 32, 8)};
    if ((d.offset != kSaturated32 && d.offset != wide.offset) ||
        (d.size != kSaturated32 && d.size != wide.size) ||
        (d.entries != kSaturated16 && d.entries != wide.entries))
      refuse("has two end records that contradict each other", at);
    d = wide;
    end_at = at;
  } else if (large) {
    refuse("has no zip64 end record", end_at);
  }
  if (d.offset > end_at || d.size != end_at - d.offset)
    refuse("has a directory that does not end where it should", d.offset);
  if (d.entries > kMostRecords)
    refuse("has " + std::to_string(d.entries) + " records; at most " +
               std::to_string(kMostRecords) + " are read",
           d.offset);
  return d;
}

// The name below the archive's folder.
std::string Archive::check_name(const std::string& name, uint64_t at) {
  const auto bad = [&](const std::string& what) {
    refuse("has a name that " + what, at, "'" + name + "'");
  };
  if (name.find('\0') != std::string::npos) bad("holds a NUL");
  const size_t slash = name.find('/');
  if (slash == 0) bad("is absolute");
  if (slash == std::string::npos || slash + 1 == name.size()) bad("lies in no folder");
  if (name.find('\\') != std::string::npos) bad("holds a backslash");
  const std::string inside = name + "/";
  if (inside.starts_with("../") || inside.find("/../") != std::string::npos)
    bad("leaves its folder");
  const std::string folder = name.substr(0, slash);
  if (folder_.empty()) folder_ = folder;
  if (folder != folder_) bad("lies in another folder than '" + folder_ + "'");
  return name.substr(slash + 1);
}

void Archive::read_directory(const Directory& d) {
  const std::string bytes = file_->read(d.offset, d.size);
  size_t at = 0;
  for (uint64_t i = 0; i < d.entries; ++i) {
    const uint64_t where = d.offset + at;
    if (at + kEntrySize > bytes.size() || bytes.compare(at, 4, "PK\1\2") != 0)
      refuse("has fewer records in its directory than it says", where);
    const size_t name = number(bytes, at + 28, 2), extra = number(bytes, at + 30, 2),
                 comment = number(bytes, at + 32, 2);
    if (at + kEntrySize + name + extra + comment > bytes.size())
      refuse("has a directory that was cut short", where);
    const std::string full = bytes.substr(at + kEntrySize, name);
    Record r;
    r.name = check_name(full, where);
    const uint64_t flags = number(bytes, at + 8, 2), method = number(bytes, at + 10, 2);
    if (flags & 1) refuse("is encrypted", where, r.name);
    if (method != 0 && method != 8) refuse("is compressed in an unknown way", where, r.name);
    r.deflated = method == 8;
    r.crc = static_cast<uint32_t>(number(bytes, at + 16, 4));
    Numbers n{number(bytes, at + 24, 4), number(bytes, at + 20, 4), number(bytes, at + 42, 4)};
    if (!take_zip64(std::string_view(bytes).substr(at + kEntrySize + name, extra), n))
      refuse("has sizes that its directory does not hold", where, r.name);
    r.size = n.size;
    r.stored_size = n.stored_size;
    r.header = n.header;
    if (!r.deflated && r.size != r.stored_size)
      refuse("is stored, but has two sizes", where, r.name);
    check_local_header(r, full);
    if (!by_name_.emplace(r.name, records_.size()).second) refuse("is there twice", where, r.name);
    records_.push_back(std::move(r));
    at += kEntrySize + name + extra + comment;
  }
  if (at != bytes.size()) refuse("has more in its directory than its records", d.offset + at);
}

void Archive::check_local_header(Record& r, const std::string& full_name) const {
  const std::string h = file_->read(r.header, kLocalSize + full_name.size());
  if (h.size() != kLocalSize + full_name.size() || !h.starts_with("PK\3\4"))
    refuse("has no header where the directory says", r.header, r.name);
  const size_t extra = number(h, 28, 2);
  if (number(h, 26, 2) != full_name.size() || h.compare(kLocalSize, std::string::npos, full_name))
    refuse("has another name in its header", r.header, r.name);
  if ((number(h, 8, 2) == 8) != r.deflated || (number(h, 6, 2) & 1))
    refuse("has another compression in its header", r.header, r.name);
  r.offset = r.header + h.size() + extra;
  const bool described = number(h, 6, 2) & 8;  // sizes and checksum stand behind the record
  Numbers n{number(h, 22, 4), number(h, 18, 4)};
  if (!take_zip64(file_->read(r.header + h.size(), extra), n) && !described)
    refuse("has sizes that its header does not hold", r.header, r.name);
  const auto differs = [&](uint64_t local, uint64_t central) {
    return local != central && !(described && (local == 0 || local == kSaturated32));
  };
  if (differs(n.size, r.size) || differs(n.stored_size, r.stored_size) ||
      differs(number(h, 14, 4), r.crc))
    refuse("has other sizes or another checksum in its header", r.header, r.name);
}

void Archive::check_places(uint64_t directory) const {
  std::vector<const Record*> order;
  for (const Record& r : records_) order.push_back(&r);
  std::ranges::sort(order, {}, &Record::header);
  for (size_t i = 0; i < order.size(); ++i) {
    const Record& r = *order[i];
    const uint64_t limit = i + 1 < order.size() ? order[i + 1]->header : directory;
    if (r.offset > limit || r.stored_size > limit - r.offset)
      refuse(i + 1 < order.size() ? "overlaps record " + order[i + 1]->name
                                  : "reaches into the directory, or beyond the file",
             r.header, r.name);
  }
}

void Archive::check_compression() const {
  uint64_t size = 0, stored = 0;
  for (const Record& r : records_) {
    if (!r.deflated) continue;
    if (r.size > UINT64_MAX - size)
      refuse("says that it is larger than any file", r.header, r.name);
    size += r.size;
    stored += r.stored_size;
  }
  if (size > std::max(kMostCompressed, kMostRatio * stored))
    refuse("holds " + std::to_string(stored) + " compressed bytes that stand for " +
               std::to_string(size),
           0);
}

std::string Archive::read(const Record& r) const {
  const std::string stored = file_->read(r.offset, r.stored_size);
  if (stored.size() != r.stored_size) refuse("was cut while it was read", r.offset, r.name);
  std::string content;
  if (r.deflated) {
    content.resize(r.size);
    z_stream z{};
    inflateInit2(&z, -MAX_WBITS);
    z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(stored.data()));
    z.avail_in = static_cast<uInt>(stored.size());
    z.next_out = reinterpret_cast<Bytef*>(content.data());
    z.avail_out = static_cast<uInt>(content.size());
    const int end = inflate(&z, Z_FINISH);
    const bool whole = end == Z_STREAM_END && z.total_out == r.size && z.avail_in == 0;
    inflateEnd(&z);
    if (!whole) refuse("cannot be inflated to the size it says", r.offset, r.name);
  } else {
    content = stored;
  }
  const uLong crc = crc32_z(0, reinterpret_cast<const Bytef*>(content.data()), content.size());
  if (static_cast<uint32_t>(crc) != r.crc) refuse("does not have its checksum", r.offset, r.name);
  return content;
}

}  // namespace oe::archive
