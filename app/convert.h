// The verbs `convert` and `check`: let the worker work, commit its files and print the result.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// `arguments` without the program's name, the verb included. Returns the exit code; a signal that
// ended the worker ends this process, with the files cleaned up.
int convert(const std::vector<std::string>& arguments);

}  // namespace oe::app
