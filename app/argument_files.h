// Arguments that stand in files: @FILE in their place, --config FILE before all others.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// The arguments with those of the files instead of their names. In a file blanks and line ends
// separate arguments, quotes keep them together as in a shell, and # begins a comment. A file may
// name others, relative to its own folder. Only files that are named are read. Throws
// Failure(Usage).
std::vector<std::string> with_files(const std::vector<std::string>& arguments);

}  // namespace oe::app
