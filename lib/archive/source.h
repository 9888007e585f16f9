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
  std::string code;  // the record that it stands in, where outline() was not called for text alone
};

// The classes of a file of code, by name. Methods outside a class (PyTorch 1.0 to 1.2 has a file a
// module) are those of "".
std::map<std::string, ClassOutline> outline(std::string_view code);

// The lines that define `method` of `class_name` (as outline() names it), outdented; empty: none
// do.
std::string method_text(std::string_view code, std::string_view class_name,
                        std::string_view method);

// Adds the operators that the code calls ("aten::conv2d"), the devices that it names ("cuda:0") and
// the classes of libraries.
void count_operators(std::string_view code, Summary& s);

}  // namespace oe::archive
