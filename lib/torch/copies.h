// Copies where LibTorch's deepcopy() loses something.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <optional>

namespace oe::torch_io {

// A copy that shares no memory with `v`, on `device` if there is one. Named tuples keep their
// types: a method takes no other ones as its arguments.
c10::IValue deep_copy(const c10::IValue& v, std::optional<c10::Device> device = {});

// A copy of the module on another device. Tensors that share memory share it there too.
torch::jit::Module copy_to(c10::Device device, const torch::jit::Module& module);

}  // namespace oe::torch_io
