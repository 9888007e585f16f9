// Whether unpickled values are what the code was compiled for: LibTorch's interpreter unpacks
// tuples and reads attributes of objects by their place, without a check.
#pragma once

#include <ATen/core/ivalue.h>
#include <ATen/core/jit_type.h>
#include <torch/csrc/jit/ir/ir.h>

#include <string>

namespace oe::torch_io {

// Objects, tuples and what lists and dicts hold of them are looked at; what every use of a value
// checks by itself (numbers, strings, tensors) is not.
bool fits(const c10::IValue& v, const c10::Type& type);

// Throws Failure(Refused, OE0115) where `v`, which a pickle of `file` gives as `what`, does not
// fit.
void require_type(const c10::IValue& v, const c10::Type& type, const std::string& file,
                  const std::string& what);

// Serialized code may state any type of a value (`unchecked_cast`): where it does so of objects and
// tuples, and the compiler does not know better, an `isinstance` is added that raises.
void check_casts(torch::jit::Graph& graph);

}  // namespace oe::torch_io
