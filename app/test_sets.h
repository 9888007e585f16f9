// Sets of test data that replace others, so that a failure or a kill in between loses neither.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "app/folder.h"
#include "app/owner_record.h"

namespace oe::app {

// The private folder has what is new in `new/PART`, what it replaces in `old/PART` and a mark while
// new sets are being placed; PART is "" or the name of a method.

// Names of sets in `folder`, sorted; nothing where they cannot be read.
std::optional<std::vector<std::string>> sets_in(const Folder& folder);

// Moves the sets of `target`, a folder in `around`, into the private folder `inside`, and the new
// ones to their place. Gives 0, or errno: then everything is as before, or restore_sets() was not
// able to do that.
int place_sets(const Folder& around, const Folder& inside, const std::string& target,
               const std::vector<std::string>& parts);
// Removes the replaced sets.
void keep_sets(const Folder& inside);
// The sets that were replaced are in place again. False where one could not be moved; it is still
// in the private folder. Does nothing where none were placed, or they are kept.
bool restore_sets(const Folder& around, const Folder& inside, const std::string& target);

// For a process that died: keeps the new sets where it had committed, else restores the old ones.
// False as restore_sets().
bool settle_sets(const Folder& around, const Folder& inside, const OwnerRecord& record);

}  // namespace oe::app
