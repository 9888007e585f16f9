// The device that the example runs on (--device). Standard library only.
#pragma once

#include <string>

namespace oe::torch_io {

// The available CUDA devices.
struct Cuda {
  int devices = 0;
  std::string code, missing, hint;  // why CUDA cannot be used; empty: it can
};

// Whether LibTorch is a build for CUDA, with a device or without.
bool has_cuda();
// Loads LibTorch's CUDA libraries, which are beside libtorch_cpu in its builds for CUDA. Call it
// before any other use of LibTorch, which reads its registry only once.
Cuda open_cuda();
// The same, and counts the devices.
Cuda find_cuda();

// Makes `device` ("cpu", "cuda:1") the current one. Throws Failure(MissingPart).
void use_device(const std::string& device);
// The one that use_device() made current; "cpu" before.
const std::string& current_device();

}  // namespace oe::torch_io
