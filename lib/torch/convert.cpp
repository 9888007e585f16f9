// Between LibTorch's tensors and element types and our own.
#include "lib/torch/convert.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/view_as_real.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace oe::torch_io {
namespace {

constexpr std::pair<DType, c10::ScalarType> kTypes[] = {
    {DType::Float, c10::ScalarType::Float},
    {DType::UInt8, c10::ScalarType::Byte},
    {DType::Int8, c10::ScalarType::Char},
    {DType::UInt16, c10::ScalarType::UInt16},
    {DType::Int16, c10::ScalarType::Short},
    {DType::Int32, c10::ScalarType::Int},
    {DType::Int64, c10::ScalarType::Long},
    {DType::Bool, c10::ScalarType::Bool},
    {DType::Float16, c10::ScalarType::Half},
    {DType::Double, c10::ScalarType::Double},
    {DType::UInt32, c10::ScalarType::UInt32},
    {DType::UInt64, c10::ScalarType::UInt64},
    {DType::Complex64, c10::ScalarType::ComplexFloat},
    {DType::Complex128, c10::ScalarType::ComplexDouble},
    {DType::BFloat16, c10::ScalarType::BFloat16},
    {DType::Float8E4M3FN, c10::ScalarType::Float8_e4m3fn},
    {DType::Float8E4M3FNUZ, c10::ScalarType::Float8_e4m3fnuz},
    {DType::Float8E5M2, c10::ScalarType::Float8_e5m2},
    {DType::Float8E5M2FNUZ, c10::ScalarType::Float8_e5m2fnuz},
};

}  // namespace

DType to_dtype(c10::ScalarType t) {
  for (const auto& [ours, theirs] : kTypes)
    if (theirs == t) return ours;
  return DType::Undefined;
}

c10::ScalarType to_scalar_type(DType t) {
  for (const auto& [ours, theirs] : kTypes)
    if (ours == t) return theirs;
  return c10::ScalarType::Undefined;
}

at::Tensor number_tensor(const c10::IValue& v, DType type) {
  if (type != DType::Undefined) return number_tensor(v).to(to_scalar_type(type));
  if (v.isBool()) return at::scalar_tensor(v.toBool(), at::kBool);
  if (v.isInt()) return at::scalar_tensor(v.toInt(), at::kLong);
  return at::scalar_tensor(v.toDouble(), at::kDouble);
}

c10::IValue number_in(const c10::IValue& v, DType type) {
  if (type == DType::Undefined) return v;
  const at::Scalar s = number_tensor(v, type).item();
  return v.isInt() ? c10::IValue(s.toLong()) : c10::IValue(s.toDouble());
}

TensorPtr to_host(const at::Tensor& t) {
  const DType type = to_dtype(t.scalar_type());
  if (type == DType::Undefined)
    throw std::runtime_error(std::string("ONNX has no element type for ") +
                             c10::toString(t.scalar_type()));
  at::Tensor plain = t.detach().to(c10::kCPU).resolve_conj().resolve_neg();
  if (plain.is_complex()) plain = at::view_as_real(plain);
  auto dense = std::make_shared<at::Tensor>(plain.contiguous());
  const void* data = dense->const_data_ptr();
  return std::make_shared<const Tensor>(part_type(type), dense->sizes().vec(), data,
                                        std::move(dense));
}

at::Tensor from_host(const Tensor& t) {
  const c10::ScalarType type = to_scalar_type(t.dtype());
  if (type == c10::ScalarType::Undefined)
    throw std::runtime_error("LibTorch has no element type for " + std::string(name(t.dtype())));
  at::Tensor out = at::empty(t.dims(), type);
  if (t.nbytes() > 0) std::memcpy(out.mutable_data_ptr(), t.data(), t.nbytes());
  return out;
}

}  // namespace oe::torch_io
