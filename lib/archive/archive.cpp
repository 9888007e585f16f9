#include "lib/archive/archive.h"

#include <algorithm>
#include <charconv>

#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::archive {
namespace {

constexpr uint64_t kMostCompressed = 64 << 20;  // bytes, or this many times what is stored:
constexpr uint64_t kMostRatio = 20;

Zip open_zip(const std::filesystem::path& path, File file) {
  try {
    return Zip(std::move(file));
  } catch (const BadZip& e) {
    refuse(path, e);
  }
}

}  // namespace

void refuse(const std::filesystem::path& path, const BadZip& e) {
  throw Failure(
      ExitCode::Refused, "OE0114",
      safe_line(path.string() + ": " + (e.record.empty() ? "the archive" : "record " + e.record) +
                " (at byte " + std::to_string(e.offset) + ") " + e.what()),
      "copy the file again, or save it again");
}

Archive::Archive(const std::filesystem::path& path) : Archive(path, File(path)) {}

Archive::Archive(const std::filesystem::path& path, File file)
    : Archive(path, open_zip(path, std::move(file))) {}

Archive::Archive(const std::filesystem::path& path, Zip zip)
    : path_(path), zip_(std::move(zip)), records_(zip_.records()) {
  try {
    for (Record& r : records_) {
      zip_.locate(r);
      r.name = check_name(r.name, r.header);
      if (!by_name_.emplace(r.name, by_name_.size()).second)
        throw BadZip("is there twice", r.header, r.name);
    }
    check_places();
    check_compression();
  } catch (const BadZip& e) {
    refuse(path_, e);
  }
}

const Record* Archive::find(std::string_view name) const {
  const auto it = by_name_.find(std::string(name));
  return it == by_name_.end() ? nullptr : &records_[it->second];
}

std::string Archive::read(const Record& r, bool compare) const try {
  if (r.size > kLargestRead)
    throw BadZip("holds " + std::to_string(r.size >> 20) + " MiB where at most " +
                     std::to_string(kLargestRead >> 20) + " are read",
                 r.header, r.name);
  return zip_.read(r, compare);
} catch (const BadZip& e) {
  refuse(path_, e);
}

uint64_t Archive::version() const {
  const Record* r = find("version");
  if (!r) r = find(".data/version");
  if (!r) return 0;
  const std::string text = read(*r);
  uint64_t v = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), v).ec != std::errc())
    refuse(path_, {"is no number", r->offset, r->name});
  return v;
}

// The name below the archive's folder.
std::string Archive::check_name(const std::string& name, uint64_t at) {
  const auto bad = [&](const std::string& what) {
    throw BadZip("has a name that " + what, at, "'" + name + "'");
  };
  if (name.find('\0') != std::string::npos) bad("contains a NUL");
  const size_t slash = name.find('/');
  if (slash == 0) bad("is absolute");
  if (slash == std::string::npos || slash + 1 == name.size()) bad("is in no folder");
  if (name.find('\\') != std::string::npos) bad("contains a backslash");
  const std::string inside = name + "/";
  if (inside.starts_with("../") || inside.find("/../") != std::string::npos)
    bad("points outside the archive");
  const std::string folder = name.substr(0, slash);
  if (folder_.empty()) folder_ = folder;
  if (folder != folder_) bad("is in another folder than '" + folder_ + "'");
  return name.substr(slash + 1);
}

void Archive::check_places() const {
  std::vector<const Record*> order;
  for (const Record& r : records_) order.push_back(&r);
  std::ranges::sort(order, {}, &Record::header);
  for (size_t i = 0; i < order.size(); ++i) {
    const Record& r = *order[i];
    const uint64_t limit = i + 1 < order.size() ? order[i + 1]->header : zip_.directory();
    if (r.offset > limit || r.stored_size > limit - r.offset)
      throw BadZip(i + 1 < order.size() ? "overlaps record " + safe_line(order[i + 1]->name)
                                        : "extends into the directory or beyond the file",
                   r.header, r.name);
  }
}

void Archive::check_compression() const {
  uint64_t size = 0, stored = 0;
  for (const Record& r : records_) {
    if (!r.deflated) continue;
    if (r.size > UINT64_MAX - size)
      throw BadZip("claims to be larger than any file", r.header, r.name);
    size += r.size;
    stored += r.stored_size;
  }
  if (size > std::max(kMostCompressed, kMostRatio * stored))
    throw BadZip("holds " + std::to_string(stored) + " compressed bytes that expand to " +
                     std::to_string(size),
                 0);
}

}  // namespace oe::archive
