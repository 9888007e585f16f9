// Tensors without data: what an operator makes of shapes and element types, at no cost.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <functional>

namespace oe::infer {

// A tensor of up to this many elements keeps its numbers: positions, masks, lengths and the steps
// of a policy are computed, feature maps and weights are not.
constexpr int64_t kComputed = 4096;

// The same tensor on the meta device: type, sizes and strides.
at::Tensor shadow(const at::Tensor& t);

// What a run without data has of a tensor: its shadow; of a small one its numbers, on the CPU.
at::Tensor without_data(const at::Tensor& t);

// As many numbers as the shadow has elements: one of its type that any operator takes. A tensor
// that has numbers is returned as it is. Throws c10::Error for very many.
at::Tensor filled(const at::Tensor& t);

// Calls f for every tensor in `v`, and puts what it returns in its place; lists, tuples and dicts
// are rebuilt only where something in them changes.
c10::IValue map_tensors(const c10::IValue& v,
                        const std::function<at::Tensor(const at::Tensor&)>& f);
void for_each_tensor(const c10::IValue& v, const std::function<void(const at::Tensor&)>& f);

// Runs an operator whose arguments may be shadows: without numbers where LibTorch can tell the
// result's shape (its own meta kernels and those of meta_kernels.cpp), else with made-up ones.
// Results of more than kComputed elements are shadows. Throws as the operator does.
void run_operator(const torch::jit::Operator& op, torch::jit::Stack& stack);

// Kernels for the meta device that LibTorch has in Python only. Idempotent.
void register_meta_kernels();

}  // namespace oe::infer
