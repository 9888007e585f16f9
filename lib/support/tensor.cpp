// Tensor views: construction and reading of elements as numbers.
#include "lib/support/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <type_traits>

#include "lib/support/half.h"
#include "lib/support/text.h"

namespace oe {
namespace {

int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

// The cast of a float that the integer type cannot hold is undefined behavior in C++.
template <class To, class From>
To element(From v) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    constexpr From kAbove = -static_cast<From>(std::numeric_limits<To>::min());  // a power of two
    if (std::isnan(v)) return 0;
    if (v >= kAbove) return std::numeric_limits<To>::max();
    if (v < -kAbove) return std::numeric_limits<To>::min();
  }
  return static_cast<To>(v);
}

template <class To, class From>
std::vector<To> convert(std::span<const From> in) {
  std::vector<To> out;
  out.reserve(in.size());
  for (From v : in) out.push_back(element<To>(v));
  return out;
}

template <class To>
std::vector<To> as(const Tensor& t) {
  switch (t.dtype()) {
    case DType::Float:
      return convert<To>(t.values<float>());
    case DType::Double:
      return convert<To>(t.values<double>());
    case DType::Int8:
      return convert<To>(t.values<int8_t>());
    case DType::Int16:
      return convert<To>(t.values<int16_t>());
    case DType::Int32:
      return convert<To>(t.values<int32_t>());
    case DType::Int64:
      return convert<To>(t.values<int64_t>());
    case DType::UInt8:
    case DType::Bool:
      return convert<To>(t.values<uint8_t>());
    case DType::UInt16:
      return convert<To>(t.values<uint16_t>());
    case DType::UInt32:
      return convert<To>(t.values<uint32_t>());
    case DType::UInt64:
      return convert<To>(t.values<uint64_t>());
    case DType::Float16:
    case DType::BFloat16: {
      std::vector<To> out;
      for (uint16_t v : t.values<uint16_t>())
        out.push_back(element<To>(t.dtype() == DType::Float16 ? half_value(v) : bfloat16_value(v)));
      return out;
    }
    default:
      throw std::logic_error("elements of type " + std::string(name(t.dtype())) +
                             " are not real numbers");
  }
}

// Blocks keep both sides of a transpose in the cache.
template <class T>
void transpose_blocks(const T* in, T* out, int64_t rows, int64_t columns, int64_t stride) {
  constexpr int64_t kBlock = 32;
  for (int64_t r0 = 0; r0 < rows; r0 += kBlock)
    for (int64_t c0 = 0; c0 < columns; c0 += kBlock)
      for (int64_t r = r0; r < std::min(r0 + kBlock, rows); ++r)
        for (int64_t c = c0; c < std::min(c0 + kBlock, columns); ++c)
          out[r * columns + c] = in[c * stride + r];
}

void round_to(DType to, const float* in, uint16_t* out, size_t n) {
  if (to == DType::Float16)
    for (size_t i = 0; i < n; ++i) out[i] = half_bits(in[i]);
  else
    for (size_t i = 0; i < n; ++i) out[i] = bfloat16_bits(in[i]);
}

}  // namespace

void transpose_rows(const void* in, void* out, int64_t rows, int64_t columns, int64_t stride,
                    size_t size) {
  with_element(size, [&]<class T>(T) {
    transpose_blocks(static_cast<const T*>(in), static_cast<T*>(out), rows, columns, stride);
  });
}

struct Tensor::Deferred {
  TensorPtr base;
  std::once_flag once;
  std::unique_ptr<std::byte[]> bytes;
};

Tensor::Tensor(DType dtype, std::vector<int64_t> dims, const void* data,
               std::shared_ptr<const void> owner)
    : dtype_(dtype),
      dims_(std::move(dims)),
      numel_(count(dims_)),
      data_(data),
      owner_(std::move(owner)) {}

Tensor::Tensor(std::vector<int64_t> dims, std::vector<std::string> strings)
    : dtype_(DType::String),
      dims_(std::move(dims)),
      numel_(count(dims_)),
      strings_(std::move(strings)) {}

TensorPtr Tensor::from_bytes(DType dtype, std::vector<int64_t> dims, const void* bytes,
                             size_t size) {
  auto owner = std::make_shared<std::vector<std::byte>>(size);
  if (size) std::memcpy(owner->data(), bytes, size);
  auto t = std::make_shared<const Tensor>(dtype, std::move(dims), owner->data(), owner);
  if (t->nbytes() != size) throw std::logic_error("tensor bytes do not match its shape and type");
  return t;
}

TensorPtr Tensor::transpose_of(TensorPtr base) {
  if (base->base() && base->base()->dtype() == base->dtype()) return base->base();
  const std::vector<int64_t>& dims = base->dims();
  auto t = std::make_shared<Tensor>(base->dtype(), std::vector<int64_t>{dims.at(1), dims.at(0)},
                                    nullptr, nullptr);
  t->deferred_ = std::make_shared<Deferred>();
  t->deferred_->base = std::move(base);
  return t;
}

TensorPtr Tensor::rounded(TensorPtr base, DType to) {
  if (base->dtype() != DType::Float) throw std::logic_error("only float32 is rounded");
  auto t = std::make_shared<Tensor>(to, base->dims(), nullptr, nullptr);
  t->deferred_ = std::make_shared<Deferred>();
  t->deferred_->base = std::move(base);
  return t;
}

const TensorPtr& Tensor::base() const {
  static const TensorPtr none;
  return deferred_ ? deferred_->base : none;
}

const void* Tensor::deferred_data() const {
  std::call_once(deferred_->once, [&] {
    deferred_->bytes = std::make_unique_for_overwrite<std::byte[]>(nbytes());
    std::byte* to = deferred_->bytes.get();
    stream([&](const void* piece, size_t size) {
      std::memcpy(to, piece, size);
      to += size;
    });
  });
  return deferred_->bytes.get();
}

void Tensor::stream(const std::function<void(const void*, size_t)>& sink) const {
  if (!deferred_) return sink(data_, nbytes());
  constexpr size_t kPiece = 1 << 22;  // bytes
  const Tensor& base = *deferred_->base;
  if (base.dtype() != dtype_) {
    const size_t most = std::min(kPiece / sizeof(uint16_t), static_cast<size_t>(numel_));
    const auto piece = std::make_unique_for_overwrite<uint16_t[]>(most);
    return base.stream([&](const void* data, size_t size) {
      const auto* in = static_cast<const float*>(data);
      for (size_t left = size / sizeof(float); left > 0;) {
        const size_t n = std::min(left, most);
        round_to(dtype_, in, piece.get(), n);
        sink(piece.get(), n * sizeof(uint16_t));
        in += n;
        left -= n;
      }
    });
  }
  const size_t element = byte_size(dtype_), row = static_cast<size_t>(dims_[1]) * element;
  if (row == 0) return;
  const int64_t rows = std::max<int64_t>(static_cast<int64_t>(kPiece / row), 1);
  const auto piece = std::make_unique_for_overwrite<std::byte[]>(static_cast<size_t>(rows) * row);
  const auto* in = static_cast<const std::byte*>(base.data());
  for (int64_t r = 0; r < dims_[0]; r += rows) {
    const int64_t n = std::min(rows, dims_[0] - r);
    transpose_rows(in + static_cast<size_t>(r) * element, piece.get(), n, dims_[1], dims_[0],
                   element);
    sink(piece.get(), static_cast<size_t>(n) * row);
  }
}

Tensor::Memory Tensor::memory() const {
  if (!deferred_) return {data_, false, DType::Undefined};
  Memory m = deferred_->base->memory();
  if (deferred_->base->dtype() == dtype_)
    m.transposed = !m.transposed;
  else
    m.rounded = dtype_;
  return m;
}

std::vector<int64_t> Tensor::as_int64() const { return as<int64_t>(*this); }
std::vector<double> Tensor::as_double() const { return as<double>(*this); }

std::string json_text(const Tensor& t) {
  const bool floats = is_float(t.dtype()), bools = t.dtype() == DType::Bool;
  if (!floats && !bools && !is_integer(t.dtype())) return {};
  const std::vector<double> values = floats ? t.as_double() : std::vector<double>{};
  const std::vector<int64_t> integers = floats ? std::vector<int64_t>{} : t.as_int64();
  size_t next = 0;
  const std::function<std::string(size_t)> list = [&](size_t axis) -> std::string {
    if (axis == t.dims().size()) {
      const size_t i = next++;
      if (bools) return integers[i] ? "true" : "false";
      if (!floats) return std::to_string(integers[i]);
      const std::string text = t.dtype() == DType::Double
                                   ? float_text(values[i])
                                   : float_text(static_cast<float>(values[i]));
      return std::isfinite(values[i]) ? text : '"' + text + '"';
    }
    std::string out;
    for (int64_t i = 0; i < t.dims()[axis]; ++i) out += (i ? "," : "") + list(axis + 1);
    return "[" + out + "]";
  };
  return list(0);
}

}  // namespace oe
