// The verb `convert`: lets the worker convert, commits its files and prints the result.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// Returns the exit code; a signal that ended the worker ends this process, with the files cleaned
// up.
int convert(const std::vector<std::string>& arguments);

}  // namespace oe::app
