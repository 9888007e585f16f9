// The file in a private folder that says whose it is, and what to do with it when that process
// dies.
#include "app/owner_record.h"

#include <unistd.h>

#include <cerrno>
#include <cstdlib>

namespace oe::app {
namespace {

constexpr std::string_view kPid = "pid ", kTarget = "target ", kRemains = "remains ",
                           kCommits = "commits ";

void put(std::string& text, std::string_view key, const std::string& value) {
  text += key;
  text += value;
  text += '\0';
}

void put(std::string& text, std::string_view key, const KnownFile& f) {
  put(text, key, std::to_string(f.device) + " " + std::to_string(f.inode) + " " + f.name);
}

// "DEVICE INODE NAME"
KnownFile known_file_in(const std::string& value) {
  KnownFile f;
  char* end = nullptr;
  f.device = std::strtoull(value.c_str(), &end, 10);
  if (*end != ' ') return {};
  f.inode = std::strtoull(end + 1, &end, 10);
  if (*end != ' ') return {};
  f.name = end + 1;
  return f;
}

}  // namespace

std::string to_text(const OwnerRecord& r) {
  std::string text;
  if (!r.pid.empty()) put(text, kPid, r.pid);
  for (const std::string& name : r.targets) put(text, kTarget, name);
  for (const KnownFile& f : r.remains) put(text, kRemains, f);
  for (const KnownFile& f : r.commits) put(text, kCommits, f);
  return text;
}

OwnerRecord owner_record(std::string_view text) {
  OwnerRecord r;
  for (size_t end; (end = text.find('\0')) != std::string_view::npos; text.remove_prefix(end + 1)) {
    const std::string field(text.substr(0, end));
    if (field.starts_with(kPid)) r.pid = field.substr(kPid.size());
    if (field.starts_with(kTarget)) r.targets.push_back(field.substr(kTarget.size()));
    if (field.starts_with(kRemains))
      r.remains.push_back(known_file_in(field.substr(kRemains.size())));
    if (field.starts_with(kCommits))
      r.commits.push_back(known_file_in(field.substr(kCommits.size())));
  }
  return r;
}

int append(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(descriptor, text.data(), text.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) return ENOSPC;
    text.remove_prefix(static_cast<size_t>(n));
  }
  return 0;
}

std::string contents(int descriptor) {
  constexpr size_t kMost = 1 << 20;
  std::string text(kMost, '\0');
  size_t done = 0;
  while (done < kMost) {
    const ssize_t n = pread(descriptor, text.data() + done, kMost - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  text.resize(done);
  return text;
}

KnownFile known_file(const std::string& name, const struct stat& s) {
  return {s.st_dev, s.st_ino, name};
}

bool is_same(const KnownFile& f, const struct stat& s) {
  return f.device == s.st_dev && f.inode == s.st_ino;
}

}  // namespace oe::app
