// Devices named in a file: where the model allocates is this run's to say, what it compares is not.
#pragma once

#include <torch/csrc/jit/api/module.h>

namespace oe::torch_io {

// Rewrites the model's code so that everything it allocates or moves lies on `device`, whatever the
// code says ("cuda:0", x.cuda()), and a file made on another machine runs on this one; its
// constants are moved there. Devices that are compared, printed or turned into strings stay what
// they were.
void allocate_on(c10::Device device, const torch::jit::Module& module);
// The same for functions of ours, on the device that use_device() made current.
void allocate_on_current(torch::jit::CompilationUnit& functions);

}  // namespace oe::torch_io
