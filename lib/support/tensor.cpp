// Tensor views: construction and reading of elements as numbers.
#include "lib/support/tensor.h"

#include <bit>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace oe {
namespace {

int64_t count(const std::vector<int64_t>& dims) {
  int64_t n = 1;
  for (int64_t d : dims) n *= d;
  return n;
}

double half_to_double(uint16_t h) {
  const int exponent = (h >> 10) & 31, mantissa = h & 1023;
  double v;
  if (exponent == 31)
    v = mantissa ? std::numeric_limits<double>::quiet_NaN()
                 : std::numeric_limits<double>::infinity();
  else if (exponent == 0)
    v = std::ldexp(mantissa, -24);
  else
    v = std::ldexp(1024 + mantissa, exponent - 25);
  return h & 0x8000 ? -v : v;
}

double bfloat16_to_double(uint16_t b) {
  return std::bit_cast<float>(static_cast<uint32_t>(b) << 16);
}

template <class To, class From>
std::vector<To> convert(std::span<const From> in) {
  std::vector<To> out;
  out.reserve(in.size());
  for (From v : in) out.push_back(static_cast<To>(v));
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
        out.push_back(static_cast<To>(t.dtype() == DType::Float16 ? half_to_double(v)
                                                                  : bfloat16_to_double(v)));
      return out;
    }
    default:
      throw std::logic_error("elements of type " + std::string(name(t.dtype())) +
                             " are no real numbers");
  }
}

}  // namespace

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

std::vector<int64_t> Tensor::as_int64() const { return as<int64_t>(*this); }
std::vector<double> Tensor::as_double() const { return as<double>(*this); }

}  // namespace oe
