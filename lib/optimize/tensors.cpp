// Small host tensors: dims, broadcasting, strided copies.
#include "lib/optimize/tensors.h"

#include <algorithm>

namespace oe::optimize {

int64_t count(const Dims& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

std::optional<Dims> broadcast(const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) return std::nullopt;
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

Dims contiguous_strides(const Dims& dims) {
  Dims out(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    out[i] = stride;
    stride *= dims[i];
  }
  return out;
}

Dims broadcast_strides(const Dims& from, const Dims& to) {
  Dims out(to.size(), 0), own = contiguous_strides(from);
  const size_t lead = to.size() - from.size();
  for (size_t i = 0; i < from.size(); ++i)
    if (from[i] != 1) out[lead + i] = own[i];
  return out;
}

std::optional<int64_t> normalized(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return axis < 0 ? axis + rank : axis;
}

Builder::Builder(DType dtype, Dims dims)
    : dtype_(dtype),
      dims_(std::move(dims)),
      bytes_(std::make_shared<std::vector<std::byte>>(static_cast<size_t>(count(dims_)) *
                                                      byte_size(dtype))) {}

TensorPtr Builder::finish() && {
  const void* data = bytes_->data();
  return std::make_shared<const Tensor>(dtype_, std::move(dims_), data, std::move(bytes_));
}

namespace {

template <class T>
void copy(const T* in, T* out, const Dims& dims, const Dims& strides) {
  const Dims none(dims.size(), 0);
  for_each_pair(dims, strides, none, [&](int64_t i, int64_t from, int64_t) { out[i] = in[from]; });
}

}  // namespace

TensorPtr strided_copy(const Tensor& t, Dims dims, int64_t offset, const Dims& strides) {
  Builder b(t.dtype(), dims);
  if (dims.size() == 2 && strides[0] == 1 && offset == 0) {
    transpose_rows(t.data(), b.data<std::byte>(), dims[0], dims[1], strides[1],
                   byte_size(t.dtype()));
  } else if (count(dims) > 0) {
    with_element(byte_size(t.dtype()), [&]<class T>(T) {
      copy(static_cast<const T*>(t.data()) + offset, b.data<T>(), dims, strides);
    });
  }
  return std::move(b).finish();
}

TensorPtr with_dims(const TensorPtr& t, Dims dims) {
  if (t->dtype() == DType::String)
    return std::make_shared<const Tensor>(std::move(dims), t->strings());
  return std::make_shared<const Tensor>(t->dtype(), std::move(dims), t->data(), t);
}

bool same_content(const Tensor& a, const Tensor& b) {
  if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
  if (a.dtype() == DType::String) return a.strings() == b.strings();
  if (a.memory() == b.memory()) return true;
  if (a.base() || b.base()) return a.base() && b.base() && same_content(*a.base(), *b.base());
  return a.nbytes() == 0 || !std::memcmp(a.data(), b.data(), a.nbytes());
}

}  // namespace oe::optimize
