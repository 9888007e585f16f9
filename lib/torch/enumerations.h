// Element types, layouts and memory formats are integers in TorchScript: checked before LibTorch
// looks them up in its tables, which it does without a check.
#pragma once

#include <ATen/core/dispatch/Dispatcher.h>

namespace oe::torch_io {

// From now on operators throw c10::Error for an integer that stands for no element type, layout or
// memory format, in threads where check_kernels() was called, which calls this.
void check_enumerations();

// The check alone, of a call that waits on the stack. Throws c10::Error.
void check_enumeration_arguments(const c10::FunctionSchema& schema, const torch::jit::Stack& stack);

}  // namespace oe::torch_io
