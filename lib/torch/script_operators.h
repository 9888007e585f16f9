// Operators that TorchScript has and LibTorch's dispatcher does not: checked before they run.
#pragma once

namespace oe::torch_io {

// From now on, those that would divide by zero, or look up an element type that there is none of,
// throw c10::Error instead of ending the process. check_kernels() calls this. Idempotent.
void check_script_operators();

}  // namespace oe::torch_io
