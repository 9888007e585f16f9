// Sets of test data that replace others, so that a failure or a kill in between loses neither.
#include "app/test_sets.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace oe::app {
namespace {

constexpr const char* kNew = "new";
constexpr const char* kOld = "old";
constexpr const char* kDone = "done";        // what `old` becomes when it is not wanted any more
constexpr const char* kPlacing = "placing";  // all sets of the target are new
constexpr const char* kMade = "made";        // the target did not exist
constexpr const char* kSetPrefix = "test_data_set_";

// The folder of a part; "" is the folder itself.
Folder part_of(const Folder& folder, const std::string& part) {
  return Folder(folder, part.empty() ? "." : part);
}

int make_if_absent(const Folder& folder, const std::string& name, mode_t mode) {
  const int error = folder.make_folder(name, mode);
  return error == EEXIST ? 0 : error;
}

void remove_empty(const Folder& folder, const std::string& name) {
  unlinkat(folder.descriptor(), name.c_str(), AT_REMOVEDIR);
}

// 0 or the first errno; goes on after an error.
int move_sets(const Folder& from, const Folder& to) {
  const auto sets = sets_in(from);
  if (!sets) return EIO;
  int error = 0;
  for (const std::string& set : *sets)
    if (const int e = from.move(set, to, set, /*replace=*/false); e && !error) error = e;
  return error;
}

int sync_sets(const Folder& folder) {
  const auto sets = sets_in(folder);
  if (!sets) return EIO;
  for (const std::string& name : *sets) {
    const Folder set(folder, name);
    if (!set.is_open()) return errno;
    const auto files = set.names();
    if (!files) return EIO;
    for (const std::string& file : *files)
      if (const int e = set.sync_file(file)) return e;
    if (const int e = set.sync()) return e;
  }
  return 0;
}

// Nothing where they cannot be read: then none may be taken for absent.
std::optional<std::vector<std::string>> parts_of(const Folder& folder) {
  const auto names = folder.names();
  if (!names) return std::nullopt;
  std::vector<std::string> parts = {""};
  for (const std::string& name : *names)
    if (!name.starts_with(kSetPrefix)) parts.push_back(name);
  return parts;
}

// One step of place_sets(): 0 or errno.
int place(const Folder& around, const Folder& inside, const std::string& target,
          const std::vector<std::string>& parts) {
  if (const int e = make_if_absent(inside, kOld, 0700)) return e;
  if (!around.status(target)) {
    if (const int e = make_if_absent(inside, kMade, 0700)) return e;
    if (const int e = make_if_absent(around, target, 0777)) return e;
  }
  const Folder old(inside, kOld), fresh(inside, kNew), to(around, target);
  if (!old.is_open() || !fresh.is_open() || !to.is_open()) return errno;
  for (const std::string& part : parts) {
    if (!part.empty())
      for (const Folder* f : {&old, &to})
        if (const int e = make_if_absent(*f, part, 0777)) return e;
    if (const int e = sync_sets(part_of(fresh, part))) return e;
    if (const int e = move_sets(part_of(to, part), part_of(old, part))) return e;
  }
  if (const int e = make_if_absent(inside, kPlacing, 0700)) return e;
  for (const std::string& part : parts) {
    const Folder there = part_of(to, part);
    if (const int e = move_sets(part_of(fresh, part), there)) return e;
    if (const int e = there.sync()) return e;
  }
  if (const int e = to.sync()) return e;
  return around.sync();
}

}  // namespace

std::optional<std::vector<std::string>> sets_in(const Folder& folder) {
  auto sets = folder.names();
  if (sets)
    std::erase_if(*sets, [](const std::string& name) { return !name.starts_with(kSetPrefix); });
  return sets;
}

int place_sets(const Folder& around, const Folder& inside, const std::string& target,
               const std::vector<std::string>& parts) {
  const int error = place(around, inside, target, parts);
  if (error) restore_sets(around, inside, target);
  return error;
}

void keep_sets(const Folder& inside) { inside.move(kOld, inside, kDone, /*replace=*/false); }

bool restore_sets(const Folder& around, const Folder& inside, const std::string& target) {
  const Folder old(inside, kOld);
  if (!old.is_open()) return true;
  const Folder fresh(inside, kNew), to(around, target);
  const auto parts = parts_of(old);
  if (!parts) return false;
  bool restored = true;
  if (inside.status(kPlacing)) {
    for (const std::string& part : *parts)
      restored &= move_sets(part_of(to, part), part_of(fresh, part)) == 0;
    if (restored) remove_empty(inside, kPlacing);
  }
  for (const std::string& part : *parts)
    restored &= move_sets(part_of(old, part), part_of(to, part)) == 0;
  if (!restored) return false;
  if (inside.status(kMade)) {
    for (const std::string& part : *parts)
      if (!part.empty()) remove_empty(to, part);
    remove_empty(around, target);
  }
  keep_sets(inside);  // nothing is in it
  return true;
}

bool settle_sets(const Folder& around, const Folder& inside, const OwnerRecord& record) {
  if (record.targets.empty()) return true;
  for (const KnownFile& f : record.commits) {
    struct stat s {};
    if (lstat(f.name.c_str(), &s) != 0 || !is_same(f, s)) continue;
    keep_sets(inside);
    return true;
  }
  return restore_sets(around, inside, record.targets[0]);
}

}  // namespace oe::app
