// Removes what runs that were killed left in an output folder.
#pragma once

#include <string>
#include <vector>

#include "app/folder.h"
#include "app/owner_record.h"

namespace oe::app {

// Removes the files that are still the ones that are listed, and that no model names. `models`: see
// is_named(). False where a file could not be judged or removed.
bool remove_unnamed(const Folder& folder, const std::vector<std::string>& models,
                    const std::vector<KnownFile>& files);

// Removes the private folders of dead processes in `folder`, with what these would have removed.
// Gives the process id of a living one that writes one of `targets`; "" where there is none.
// `alone`: no other process makes a private folder meanwhile.
std::string clear_remains(const Folder& folder, const std::vector<std::string>& targets,
                          bool alone);

}  // namespace oe::app
