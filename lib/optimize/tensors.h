// Small host tensors: dims, broadcasting, strided copies, dispatch on the element type.
#pragma once

#include <algorithm>
#include <optional>

#include "lib/support/tensor.h"

namespace oe::optimize {

using Dims = std::vector<int64_t>;

int64_t count(const Dims& dims);
// Result of numpy broadcasting; nothing when the dims do not fit.
std::optional<Dims> broadcast(const Dims& a, const Dims& b);
// Row-major strides in elements.
Dims contiguous_strides(const Dims& dims);
// Strides in elements that read a tensor of dims `from` as if it had been broadcast to `to`.
Dims broadcast_strides(const Dims& from, const Dims& to);
// An axis counted from either end, as 0..rank-1; nothing when out of range.
std::optional<int64_t> normalized(int64_t axis, int64_t rank);
// A start or an end of a Slice, counted from either end, as 0..size.
inline int64_t slice_bound(int64_t v, int64_t size) {
  return std::clamp<int64_t>(v < 0 ? v + size : v, 0, size);
}

// Uninitialised bytes of a tensor to be, then the tensor over them.
class Builder {
 public:
  Builder(DType dtype, Dims dims);
  template <class T>
  T* data() {
    return reinterpret_cast<T*>(bytes_->data());
  }
  TensorPtr finish() &&;

 private:
  DType dtype_;
  Dims dims_;
  std::shared_ptr<std::vector<std::byte>> bytes_;
};

// out[i] = t[offset + sum(i[k] * strides[k])], strides in elements. Not for strings.
TensorPtr strided_copy(const Tensor& t, Dims dims, int64_t offset, const Dims& strides);
// The same bytes under other dims; nothing is copied.
TensorPtr with_dims(const TensorPtr& t, Dims dims);
// Same type, dims and bytes; a deferred transpose equals only another one.
bool same_content(const Tensor& a, const Tensor& b);

// Walks the positions of a tensor of dims `dims` in row-major order together with the offsets that
// two sets of strides give.
template <class F>
void for_each_pair(const Dims& dims, const Dims& a, const Dims& b, const F& f) {
  const int64_t n = count(dims);
  Dims index(dims.size(), 0);
  int64_t ia = 0, ib = 0;
  for (int64_t i = 0; i < n; ++i) {
    f(i, ia, ib);
    for (size_t k = dims.size(); k-- > 0;) {
      ia += a[k];
      ib += b[k];
      if (++index[k] < dims[k]) break;
      ia -= a[k] * dims[k];
      ib -= b[k] * dims[k];
      index[k] = 0;
    }
  }
}

// Calls f(T{}) with the C++ type of an integer, float or double element; false for other types.
template <class F>
bool dispatch(DType t, const F& f) {
  switch (t) {
    case DType::Float:
      return f(float{});
    case DType::Double:
      return f(double{});
    case DType::Int8:
      return f(int8_t{});
    case DType::Int16:
      return f(int16_t{});
    case DType::Int32:
      return f(int32_t{});
    case DType::Int64:
      return f(int64_t{});
    case DType::UInt8:
      return f(uint8_t{});
    case DType::UInt16:
      return f(uint16_t{});
    case DType::UInt32:
      return f(uint32_t{});
    case DType::UInt64:
      return f(uint64_t{});
    default:
      return false;
  }
}

}  // namespace oe::optimize
