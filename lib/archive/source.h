// The classes of an archive's code, as far as their outline goes.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "lib/archive/summary.h"

namespace oe::archive {

struct ClassOutline {
  bool module = false;                           // class Net(Module)
  std::vector<std::string> parameters, buffers;  // names
  std::vector<Summary::Method> methods;
};

// The classes of a file of code, by name. Methods outside a class (PyTorch 1.0 to 1.2 has a file a
// module) are those of "".
std::map<std::string, ClassOutline> outline(std::string_view code);

// Adds the operators that the code calls ("aten::conv2d") and the devices that it names ("cuda:0").
void count_operators(std::string_view code, Summary& s);

}  // namespace oe::archive
