// Tensors and storages as pickles of PyTorch name them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/archive/pickle.h"

namespace oe::archive {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;  // "refers to something that is no storage"
};

struct StoredStorage {
  std::string key;     // its record is FOLDER/key
  std::string type;    // "torch.FloatStorage"
  std::string device;  // "cpu"
  int64_t elements = 0;
};
// Throws Malformed.
StoredStorage storage_of(const Persistent& p);

struct StoredTensor {
  StoredStorage storage;
  int64_t offset = 0;                   // in elements, as the strides
  std::vector<int64_t> sizes, strides;  // as many of each, none negative
};
// Whether the call makes a tensor.
bool makes_tensor(const Called& call);
// Throws Malformed.
StoredTensor tensor_of(const Called& call);

// Bytes of an element of a storage's class; 0 where there is no such class.
uint64_t element_size(std::string_view storage_type);
// As ONNX spells it ("float", "int64"), or LibTorch where ONNX has none ("qint8"); "" likewise.
std::string_view element_type(std::string_view storage_type);

}  // namespace oe::archive
