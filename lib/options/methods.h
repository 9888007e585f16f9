// Several methods of one file (--method a,b): the options of each. Standard library only.
#pragma once

#include <vector>

#include "lib/options/options.h"

namespace oe {

// The options of each method, in order. Options of a single method have its name as a prefix
// ("encode.x"), which is removed here. Each method has its own output ("codec.encode.onnx"); they
// share the file of external data. For one method, the options are returned unchanged. Throws
// Failure(Usage) for a name without a method, a method that is named twice, and options that do not
// apply to several methods.
std::vector<Options> options_of_methods(const Options& o);

}  // namespace oe
