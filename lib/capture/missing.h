// Operators that the model calls and nobody has registered.
#pragma once

#include <torch/csrc/jit/api/module.h>

#include <string>

#include "lib/support/diagnostics.h"

namespace oe::capture {

// The code of a Failure where the run came to one.
extern const char* const kMissing;

// Reports every call of such an operator in the method's code and in the code it calls.
void report_missing(const torch::jit::Module& m, const std::string& method, Diagnostics& d);

}  // namespace oe::capture
