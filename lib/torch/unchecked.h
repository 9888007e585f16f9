// Kernels of LibTorch that trust the sizes they are given: checked before they run.
#pragma once

#include <c10/core/DispatchKey.h>

namespace oe::torch_io {

// Where the checks sit in LibTorch's dispatcher: a key for tests that nothing else uses.
constexpr c10::DispatchKey kCheckedKey = c10::DispatchKey::TESTING_ONLY_GenericMode;

// From now on, in this thread, operators that would read or write beyond their arguments throw
// c10::Error instead, like those that check by themselves.
void check_kernels();

}  // namespace oe::torch_io
