#include "app/batch/journal.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "app/folder.h"
#include "app/private_folder.h"
#include "app/version.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

namespace fs = std::filesystem;

constexpr int kFormat = 1;
constexpr size_t kLongestLine = size_t{512} << 20;

ssize_t read_at(int fd, char* to, size_t count, uint64_t at) {
  for (;;)
    if (const ssize_t n = pread(fd, to, count, static_cast<off_t>(at)); n >= 0 || errno != EINTR)
      return n;
}

}  // namespace

bool JournalEntry::settled() const {
  if (state == State::Made || state == State::Finished) return true;
  if (state == State::Started) return false;
  switch (static_cast<ExitCode>(exit_code)) {
    case ExitCode::Usage:
    case ExitCode::Unreadable:
    case ExitCode::Refused:
    case ExitCode::Unsupported:
    case ExitCode::Mismatch:
      return true;
    case ExitCode::Crashed:
      return crashes >= 2;  // set aside
    default:
      return false;  // of the machine, the limits or the disk
  }
}

Journal::Journal() {
  const char* folder = std::getenv("TMPDIR");
  const fs::path path = folder && *folder ? folder : "/tmp";
  fd_ = Descriptor(open(path.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  file_ = path / "journal";
  if (fd_) return;
  std::string name = (path / "onnx-export-XXXXXX").string();
  fd_ = Descriptor(mkostemp(name.data(), O_CLOEXEC));
  if (!fd_) unwritable("OE0705", path, std::strerror(errno), "set TMPDIR to another folder");
  unlink(name.c_str());
}

Journal::Journal(const fs::path& file, Open how, bool force) : file_(file) {
  const bool fresh = !fs::exists(fs::symlink_status(file));
  fd_ = Descriptor(open(file.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!fd_) unwritable("OE0705", file, std::strerror(errno));
  // Runs of a batch that was killed hold it until they have ended.
  constexpr int kTries = 200;
  for (int i = 0; i < kTries && flock(fd_.get(), LOCK_EX | LOCK_NB) != 0; ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  if (flock(fd_.get(), LOCK_EX | LOCK_NB) != 0)
    unwritable("OE0736", file, "another batch is working on this folder",
               "wait until it ends, or choose another folder with -o");
  if (fresh) {
    const Folder folder(file.parent_path());
    if (const int error = folder.sync()) unwritable("OE0705", file, std::strerror(error));
  }
  struct stat s {};
  if (fstat(fd_.get(), &s) != 0 || !S_ISREG(s.st_mode))
    unwritable("OE0705", file, "is not a regular file");
  size_ = static_cast<uint64_t>(s.st_size);
  if (size_ == 0) return;
  if (how == Open::Continue) {
    load();
    return;
  }
  if (!force)
    unwritable("OE0735", file, "is the journal of an earlier batch in this folder",
               "continue that batch with --resume, or begin a new one with --force");
  if (ftruncate(fd_.get(), 0) != 0) unwritable("OE0705", file, std::strerror(errno));
  size_ = 0;
}

std::string Journal::name_of(const std::string& id) { return safe_line(id, TextTarget::Log); }

fs::path Journal::file_in(const std::string& folder, std::pair<size_t, size_t> shard) {
  std::string name = "onnx-export.journal";
  if (shard.second > 1)
    name = "onnx-export." + std::to_string(shard.first) + "-of-" + std::to_string(shard.second) +
           ".journal";
  return fs::path(folder) / name;
}

void Journal::load() {
  std::string buffer;
  uint64_t begin = 0;  // of the buffer in the file
  size_t number = 0;
  for (uint64_t at = 0;;) {
    char piece[1 << 16];
    const ssize_t n = read_at(fd_.get(), piece, sizeof piece, at);
    if (n < 0) unwritable("OE0705", file_, std::strerror(errno));
    if (n == 0) break;
    at += static_cast<uint64_t>(n);
    buffer.append(piece, static_cast<size_t>(n));
    size_t done = 0;
    for (size_t end; (end = buffer.find('\n', done)) != std::string::npos; done = end + 1) {
      ++number;
      const auto why = [&](const std::string& what) {
        return Failure(ExitCode::Unreadable, "OE0734",
                       file_.string() + ": line " + std::to_string(number) + " " + what,
                       "begin a new batch with --force");
      };
      const ordered_json line = ordered_json::parse(buffer.data() + done, buffer.data() + end,
                                                    nullptr, /*allow_exceptions=*/false);
      if (!line.is_object() || !line.contains("event")) throw why("is damaged");
      try {
        if (number == 1 && line.at("event") != "batch")
          throw why("is not the first line of a journal");
        if (line.at("event") == "batch" && line.at("format") != kFormat)
          throw why("has the unknown format " + line.at("format").dump());
        take(line, begin + done);
      } catch (const ordered_json::exception&) {
        throw why("is damaged");
      }
    }
    buffer.erase(0, done);
    begin += done;
    if (buffer.size() > kLongestLine) break;
  }
  // Half a line: the process was killed, or the disk was full.
  if (buffer.empty()) return;
  if (ftruncate(fd_.get(), static_cast<off_t>(begin)) != 0)
    unwritable("OE0705", file_, std::strerror(errno));
  size_ = begin;
}

void Journal::take(const ordered_json& line, uint64_t offset) {
  const std::string event = line.at("event");
  if (event == "batch") {
    if (head_.is_null()) head_ = line;
    if (const std::string version = line.at("version"); version != kVersion)
      if (std::ranges::find(other_versions_, version) == other_versions_.end())
        other_versions_.push_back(version);
    return;
  }
  JournalEntry& e = entries_[line.at("id").get<std::string>()];
  const std::string key = line.at("key");
  if (key != e.key) e = {};
  e.key = key;
  using State = JournalEntry::State;
  if (event == "started") {
    e.state = State::Started;
  } else if (event == "finished") {
    e.state = State::Finished;  // the line before has the document
  } else {
    e.state = event == "made" ? State::Made : State::Failed;
    e.exit_code = line.at("document").at("exit_code");
    e.crashes += e.exit_code == static_cast<int>(ExitCode::Crashed);
    e.offset = offset;
  }
}

void Journal::append(ordered_json line) {
  if (line["event"] == "batch") {
    line["format"] = kFormat;
    line["version"] = kVersion;
  } else {
    line["id"] = name_of(line["id"].get<std::string>());
  }
  const std::string text = dump(line, -1) + "\n";
  const auto fail = [&](int error) {
    broken_ = true;
    // A half line would be cut by the next --resume as well.
    [[maybe_unused]] const int cut = ftruncate(fd_.get(), static_cast<off_t>(size_));
    unwritable("OE0705", file_, std::strerror(error), "continue with --resume when there is space");
  };
  if (broken_) fail(EIO);
  for (size_t done = 0; done < text.size();) {
    const ssize_t n =
        pwrite(fd_.get(), text.data() + done, text.size() - done, static_cast<off_t>(size_ + done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) fail(n < 0 ? errno : ENOSPC);
    done += static_cast<size_t>(n);
  }
  if (fdatasync(fd_.get()) != 0 && errno != EINVAL) fail(errno);
  take(line, size_);
  size_ += text.size();
}

const JournalEntry* Journal::find(const std::string& id) const {
  const auto it = entries_.find(name_of(id));
  return it == entries_.end() ? nullptr : &it->second;
}

ordered_json Journal::line_of(const JournalEntry& e) const {
  std::string text;
  char piece[1 << 16];
  for (uint64_t at = e.offset;;) {
    const ssize_t n = read_at(fd_.get(), piece, sizeof piece, at);
    if (n <= 0) break;
    const char* end = std::find(piece, piece + n, '\n');
    text.append(piece, static_cast<size_t>(end - piece));
    if (end != piece + n) break;
    at += static_cast<uint64_t>(n);
  }
  ordered_json line = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!line.is_object() || !line.contains("document"))
    throw Failure(ExitCode::Unreadable, "OE0734", file_.string() + ": was changed during the batch",
                  "begin a new batch with --force");
  return line;
}

}  // namespace oe::app
