// Tensors in files that other tools write: NumPy's .npy and .npz, ONNX's TensorProto .pb.
#pragma once

#include <string>

#include "lib/support/tensor.h"

namespace oe::torch_io {

// `where` is the text after '@' in a SPEC: file.npy | file.npz:key | input_0.pb.
// Throws Failure(Unreadable) that names the file and what is wrong with it.
TensorPtr read_tensor_file(const std::string& where);

}  // namespace oe::torch_io
