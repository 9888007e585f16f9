// What the conditions compare on which an exception was raised.
#pragma once

#include <string>
#include <vector>

#include "lib/infer/shape_run.h"

namespace oe::infer {

struct Comparison {
  Site site;
  Cell left, right;
  bool types = false;  // element types
  bool key = false;    // whether left has right in it
};

// Of the branches that the stop lies in, innermost first: every comparison that their conditions
// were made of, in the function that raised.
std::vector<Comparison> comparisons_before(const Stop& stop);

// A string, or those of a list, or the keys of a dict.
std::vector<std::string> strings_in(const c10::IValue& v);

}  // namespace oe::infer
