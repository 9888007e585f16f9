// A folder nobody else has, for files that are not finished.
#pragma once

#include <filesystem>

namespace oe::app {

// Makes one inside `folder`. Throws Failure(Unwritable).
std::filesystem::path make_private_folder(const std::filesystem::path& folder);

}  // namespace oe::app
