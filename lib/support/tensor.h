// An immutable tensor: a view of contiguous row-major bytes, and an owner that keeps them
// alive.
#pragma once

#include <compare>
#include <cstring>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "lib/support/dtype.h"

namespace oe {

// Weights are never copied: `data` points into LibTorch's storage (or the archive), and `owner`
// keeps it alive. Bool is one byte for each element, 0 or 1. String tensors use `strings` and have
// no bytes. Transposed and rounded weights are deferred: they get bytes only when data() is called,
// which a writer does not do.
class Tensor {
 public:
  Tensor(DType dtype, std::vector<int64_t> dims, const void* data,
         std::shared_ptr<const void> owner);
  Tensor(std::vector<int64_t> dims, std::vector<std::string> strings);

  // Copies small host data: Tensor::of<int64_t>(DType::Int64, {2}, {1, 2}). T must have the
  // element size of `dtype` (float16 and bfloat16 travel as uint16_t, bool as uint8_t).
  template <class T>
  static std::shared_ptr<const Tensor> of(DType dtype, std::vector<int64_t> dims,
                                          const std::vector<T>& values) {
    return from_bytes(dtype, std::move(dims), values.data(), values.size() * sizeof(T));
  }
  static std::shared_ptr<const Tensor> from_bytes(DType dtype, std::vector<int64_t> dims,
                                                  const void* bytes, size_t size);

  // The transpose of a 2-d tensor, deferred.
  static std::shared_ptr<const Tensor> transpose_of(std::shared_ptr<const Tensor> base);
  // A float32 tensor rounded to float16 or bfloat16, deferred.
  static std::shared_ptr<const Tensor> rounded(std::shared_ptr<const Tensor> base, DType to);
  // The source of a deferred transpose (of the same type) or rounding; null for other tensors.
  const std::shared_ptr<const Tensor>& base() const;

  DType dtype() const { return dtype_; }
  const std::vector<int64_t>& dims() const { return dims_; }
  int64_t numel() const { return numel_; }
  size_t nbytes() const { return static_cast<size_t>(numel_) * byte_size(dtype_); }
  const void* data() const { return deferred_ ? deferred_data() : data_; }
  // The bytes in order, in pieces that are valid during the call; nothing else is kept.
  void stream(const std::function<void(const void* data, size_t size)>& sink) const;
  // Equal for tensors of the same size that view the same memory in the same way; does not call
  // data().
  struct Memory {
    const void* data = nullptr;
    bool transposed = false;
    DType rounded = DType::Undefined;
    auto operator<=>(const Memory&) const = default;
    bool as_it_is() const { return !transposed && rounded == DType::Undefined; }
  };
  Memory memory() const;
  const std::vector<std::string>& strings() const { return strings_; }
  template <class T>
  std::span<const T> values() const {
    return {static_cast<const T*>(data()), static_cast<size_t>(numel_)};
  }
  // Elements as int64 / double, whatever the stored type (bool, every integer, every float).
  // As int64, NaN is 0, and a float beyond int64 the nearest int64.
  std::vector<int64_t> as_int64() const;
  std::vector<double> as_double() const;

 private:
  struct Deferred;
  const void* deferred_data() const;

  DType dtype_ = DType::Undefined;
  std::vector<int64_t> dims_;
  int64_t numel_ = 0;
  const void* data_ = nullptr;
  std::shared_ptr<const void> owner_;
  std::vector<std::string> strings_;
  std::shared_ptr<Deferred> deferred_;
};
using TensorPtr = std::shared_ptr<const Tensor>;

// Nested JSON lists: "[[1.0,-0.5]]", "true", "7"; NaN and infinities as "nan", "inf", "-inf"; ""
// for types that are not real numbers.
std::string json_text(const Tensor& t);

// f(T{}) for a T of the size of one element.
template <class F>
void with_element(size_t size, const F& f) {
  struct Sixteen {
    uint64_t low, high;
  };
  switch (size) {
    case 1:
      return f(uint8_t{});
    case 2:
      return f(uint16_t{});
    case 4:
      return f(uint32_t{});
    case 8:
      return f(uint64_t{});
    default:
      return f(Sixteen{});
  }
}

// out[r, c] = in[c, r] for `rows` rows; rows of `in` are `stride` elements of `size` bytes apart.
void transpose_rows(const void* in, void* out, int64_t rows, int64_t columns, int64_t stride,
                    size_t size);

}  // namespace oe
