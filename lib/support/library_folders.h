// The folders in which the dynamic linker looks for the libraries of this executable.
#pragma once

#include <string>
#include <vector>

namespace oe {

// LD_LIBRARY_PATH, the executable's RUNPATH, then the system's folders, in the linker's order. They
// need not exist. The folders of ldconfig's cache are not among them.
std::vector<std::string> library_folders();

}  // namespace oe
