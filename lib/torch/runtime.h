// Settings of LibTorch for the whole process.
#pragma once

#include <exception>
#include <string>

#include "lib/torch/load_options.h"

namespace oe::torch_io {

// LibTorch's warnings on standard error.
void show_warnings(bool shown);

// Threads, no autograd; LibTorch's warnings and what the model prints go to
// standard error, and only with -v (they are about Python code that the user may not have written).
void configure(const LoadOptions& o);

// The message without LibTorch's stack trace and the interpreter's traceback.
std::string message_of(const std::exception& e);

// Whether `what` is LibTorch's (or the allocator's) message for a failed allocation.
bool is_out_of_memory(const char* what);

}  // namespace oe::torch_io
