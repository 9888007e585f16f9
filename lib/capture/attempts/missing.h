// Operators that the model calls and nobody has registered.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

#include "lib/support/diagnostics.h"

namespace oe::capture {

// Reports every call of such an operator in the method's code and in the code it calls.
void report_missing(const torch::jit::Module& m, const std::string& method, Diagnostics& d);

}  // namespace oe::capture
