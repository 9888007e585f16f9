// Devices named in a file mean nothing to the converter: everything runs on the CPU.
#pragma once

#include <torch/csrc/jit/api/module.h>

namespace oe::torch_io {

// Rewrites what the model's code and attributes name as a device ("cuda:0", x.cuda()) to the CPU,
// so that a file made on another machine runs on this one.
void forget_devices(const torch::jit::Module& module);

}  // namespace oe::torch_io
