// The Python names of the classes of modules.
#pragma once

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

namespace oe::torch_io {

// "torch.nn.modules.conv.Conv2d" for "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d". A
// class without a package is in "__main__", which TorchScript omits.
std::string python_class(const c10::ClassType& type);

// The names for all modules inside `m`, each once, in order.
std::vector<std::string> module_classes(const torch::jit::Module& m);

}  // namespace oe::torch_io
