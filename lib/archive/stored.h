// Tensors and storages as pickles of PyTorch name them.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "lib/archive/pickle.h"

namespace oe::archive {

struct Malformed : std::runtime_error {
  using std::runtime_error::runtime_error;  // "refers to a value that is not a storage"
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
// Whether the call makes a tensor of a storage.
bool makes_tensor(const Called& call);
// Throws Malformed, also where the numbers of a quantized tensor do not fit it: its scheme, a scale
// that is not finite, an axis that it does not have, as many scales as it has no channels.
StoredTensor tensor_of(const Called& call);
// Whether the tensor lies within its storage.
bool lies_within_storage(const StoredTensor& t);

// Whether the call makes a sparse tensor.
bool makes_sparse_tensor(const Called& call);
// A tensor of sizes, and the tensors that say which of its elements are there.
struct StoredSparse {
  bool compressed = false;  // CSR: indices are the starts of rows and the columns; else COO: one
  std::vector<int64_t> sizes;
  std::vector<StoredTensor> indices;
  StoredTensor values;
};
// Throws Malformed where the parts do not fit each other.
StoredSparse sparse_of(const Called& call);

// Whether a type, as code writes it ("List[int]"), is one that LibTorch's parser can be given.
bool is_plain_type(std::string_view text);

// Bytes of an element of a storage's class; 0 where there is no such class.
uint64_t element_size(std::string_view storage_type);
// As ONNX spells it ("float", "int64"), or LibTorch where ONNX has none ("qint8"); "" likewise.
std::string_view element_type(std::string_view storage_type);

}  // namespace oe::archive
