// Files of example values: what torch.save wrote, NumPy's arrays, ONNX's tensors.
#pragma once

#include <ATen/core/ivalue.h>

#include <map>
#include <string>

namespace oe::torch_io {

// Each file is read once, however often its values are asked for. What it gives is a copy: models
// write to their arguments.
class ExampleFiles {
 public:
  // What torch.save wrote to `path`: tensors, numbers, strings, None and lists, tuples, dicts of
  // them. Throws Failure(Unreadable).
  c10::IValue saved(const std::string& path);
  // The text after '@' in a SPEC: file.pt | file.npy | file.npz:key | input_0.pb. Throws
  // Failure(Unreadable).
  c10::IValue value(const std::string& where);

 private:
  std::map<std::string, c10::IValue> read_;
};

}  // namespace oe::torch_io
