// Several methods of one file (--method a,b): what each of them is told. Standard library only.
#pragma once

#include <vector>

#include "lib/options/options.h"

namespace oe {

// The options of each method, in order. What is said of one alone begins with its name
// ("encode.x"), which is gone here; each has an output of its own ("codec.encode.onnx"), and they
// share the file of external data. One method: the options as they are. Throws Failure(Usage) for
// names that begin with no method, for a method that is named twice, and for options that say
// nothing about several.
std::vector<Options> options_of_methods(const Options& o);

}  // namespace oe
