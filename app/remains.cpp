// Removes what runs that were killed left in an output folder.
#include "app/remains.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "app/private_folder.h"
#include "app/references.h"
#include "app/test_sets.h"

namespace oe::app {
namespace {

// Its lock is free: the process that held it is dead.
void clear_dead(const Folder& folder, const std::string& name, const OwnerRecord& record) {
  const Folder inside(folder, name);
  if (inside.is_open() && !settle_sets(folder, inside, record)) return;
  if (!remove_unnamed(folder, record.targets, record.remains)) return;
  folder.remove_tree(name, kOwnerFile);
}

bool shares(const std::vector<std::string>& a, const std::vector<std::string>& b) {
  return std::ranges::any_of(
      a, [&](const std::string& name) { return std::ranges::find(b, name) != b.end(); });
}

}  // namespace

bool remove_unnamed(const Folder& folder, const std::vector<std::string>& models,
                    const std::vector<KnownFile>& files) {
  bool settled = true;
  for (const KnownFile& f : files) {
    if (f.name.find('/') != std::string::npos) continue;
    const auto s = folder.status(f.name);
    if (!s || !S_ISREG(s->st_mode) || !is_same(f, *s)) continue;
    const std::optional<bool> named = is_named(folder, models, f.name);
    if (named == false) settled &= folder.remove(f.name) == 0;
    if (!named) settled = false;
  }
  return settled;
}

std::string clear_remains(const Folder& folder, const std::vector<std::string>& targets,
                          bool alone) {
  std::string holder;
  for (const std::string& name : folder.names().value_or(std::vector<std::string>())) {
    if (!name.starts_with(kPrivatePrefix)) continue;
    const Folder inside(folder, name);
    struct stat s {};
    if (!inside.is_open() || fstat(inside.descriptor(), &s) != 0) continue;
    // A folder of another user may hold a forged record, which is never followed.
    const bool ours = s.st_uid == geteuid();
    const int fd = inside.open(kOwnerFile, O_RDWR | O_NONBLOCK);
    if (fd < 0) {
      // Killed before it had an owner, or removed but for the folder; else it is none of this kind.
      if (errno == ENOENT && ours && alone)
        unlinkat(folder.descriptor(), name.c_str(), AT_REMOVEDIR);
      continue;
    }
    const bool dead = flock(fd, LOCK_EX | LOCK_NB) == 0;
    const bool alive = !dead && errno == EWOULDBLOCK;
    const OwnerRecord record = owner_record(contents(fd));
    if (dead && ours) clear_dead(folder, name, record);
    if (alive && holder.empty() && shares(record.targets, targets)) holder = record.pid;
    close(fd);
  }
  return holder;
}

}  // namespace oe::app
