// The options of writing a model, and the result. Standard library only.
#pragma once

#include <cstdint>
#include <string>

namespace oe::onnx {

struct WriteOptions {
  enum class External { Auto, Always, Never, InPlace };
  // Auto: external if the file would exceed 2 GiB. InPlace: tensors that are unchanged in the .pt
  // are read from there; the others are in the model.
  External external = External::Auto;
  std::string external_file;  // location written into the model: a plain file name
  int64_t threshold = 1024;   // bytes; smaller tensors stay inside the model
  int64_t align = 4096;       // bytes; offset alignment of external tensors
  bool doc_strings = false;   // source locations in nodes
  // Every initializer is a graph input too, as it always is below IR version 4.
  bool initializers_as_inputs = false;
};

struct WriteResult {
  bool external = false;  // whether weights are in a file of external data
  uint64_t model_bytes = 0;
  uint64_t data_bytes = 0;  // of the data file; where models share it, of this one's tensors
};

}  // namespace oe::onnx
