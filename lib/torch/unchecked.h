// Kernels of LibTorch that trust the sizes they are given: checked before they run.
#pragma once

namespace oe::torch_io {

// From now on, in this thread, operators that would read or write beyond their arguments throw
// c10::Error instead, like those that check by themselves.
void check_kernels();

}  // namespace oe::torch_io
