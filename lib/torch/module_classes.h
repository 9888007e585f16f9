// The classes of modules, as Python says them.
#pragma once

#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

namespace oe::torch_io {

// "torch.nn.modules.conv.Conv2d" of "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d". A
// class of no package stands in "__main__", where TorchScript leaves that word out.
std::string python_class(const c10::ClassType& type);

// Those of all modules inside `m`, each once, in order.
std::vector<std::string> module_classes(const torch::jit::Module& m);

}  // namespace oe::torch_io
