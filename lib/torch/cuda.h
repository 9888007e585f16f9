// The device that the example runs on (--device). Standard library only.
#pragma once

#include <string>

namespace oe::torch_io {

// What there is of CUDA.
struct Cuda {
  int devices = 0;
  std::string code, missing, hint;  // what keeps it from being used; empty: nothing
};

// Whether LibTorch is a build for CUDA, with a device or without.
bool has_cuda();
// Loads LibTorch's CUDA libraries, which lie beside libtorch_cpu in its builds for CUDA. The first
// thing that is done with LibTorch: it looks only once for what is registered.
Cuda open_cuda();
// The same, and counts the devices.
Cuda find_cuda();

// Makes `device` ("cpu", "cuda:1") the current one. Throws Failure(MissingPart).
void use_device(const std::string& device);

}  // namespace oe::torch_io
