// Between LibTorch's tensors and element types and our own.
#pragma once

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>
#include <c10/core/ScalarType.h>

#include "lib/support/dtype.h"
#include "lib/support/tensor.h"

namespace oe::torch_io {

// DType::Undefined for types ONNX does not have (quantized, ...).
DType to_dtype(c10::ScalarType t);
// c10::ScalarType::Undefined for String and Undefined.
c10::ScalarType to_scalar_type(DType t);

// The same numbers on the host, contiguous; shares LibTorch's storage where it can. A complex
// tensor becomes what it is in a written file: pairs of real and imaginary part on a last axis of
// 2. Throws std::runtime_error for types ONNX does not have.
TensorPtr to_host(const at::Tensor& t);
// An int, float or bool of TorchScript as a 0-d tensor of an element type; Undefined: its own.
at::Tensor number_tensor(const c10::IValue& v, DType type = DType::Undefined);
// The number that is left of `v` in an element type; Undefined: `v`.
c10::IValue number_in(const c10::IValue& v, DType type);
// A copy as a LibTorch tensor.
at::Tensor from_host(const Tensor& t);

}  // namespace oe::torch_io
