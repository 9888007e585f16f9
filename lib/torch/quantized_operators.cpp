// quantized_decomposed::*: quantization between plain tensors, floats here and integers there.
//
// PyTorch defines them in Python (torch/ao/quantization/fx/_decomposed.py), so that LibTorch lacks
// them. Programs are written with them: a quantized tensor is its integers, and its scale and zero
// point are arguments (lib/capture/operators/quantized.h).
#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/_make_per_channel_quantized_tensor.h>
#include <ATen/ops/_make_per_tensor_quantized_tensor.h>
#include <ATen/ops/int_repr.h>
#include <ATen/ops/isfinite.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/q_per_channel_scales.h>
#include <ATen/ops/q_per_channel_zero_points.h>
#include <ATen/ops/q_scale.h>
#include <ATen/ops/q_zero_point.h>
#include <ATen/ops/quantize_per_channel.h>
#include <ATen/ops/quantize_per_tensor.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include <limits>

#include "lib/torch/load.h"

namespace oe::torch_io {
namespace {

at::ScalarType quantized_type(at::ScalarType integers) {
  switch (integers) {
    case at::kByte:
      return at::kQUInt8;
    case at::kChar:
      return at::kQInt8;
    case at::kInt:
      return at::kQInt32;
    default:
      TORCH_CHECK(false, "no quantized tensor has elements of type ", integers);
  }
}

at::Tensor quantize_per_tensor(const at::Tensor& input, double scale, int64_t zero_point,
                               int64_t quant_min, int64_t quant_max, at::ScalarType dtype) {
  const at::Tensor q =
      at::quantize_per_tensor(input.to(at::kFloat), scale, zero_point, quantized_type(dtype));
  return at::int_repr(q).clamp(quant_min, quant_max);
}

at::Tensor quantize_per_channel(const at::Tensor& input, const at::Tensor& scales,
                                const at::Tensor& zero_points, int64_t axis, int64_t quant_min,
                                int64_t quant_max, at::ScalarType dtype) {
  const at::Tensor q = at::quantize_per_channel(input.to(at::kFloat), scales, zero_points, axis,
                                                quantized_type(dtype));
  return at::int_repr(q).clamp(quant_min, quant_max);
}

at::Tensor dequantize_per_tensor(const at::Tensor& input, double scale, int64_t zero_point, int64_t,
                                 int64_t, at::ScalarType, std::optional<at::ScalarType> out_dtype) {
  const at::Tensor q = at::_make_per_tensor_quantized_tensor(input, scale, zero_point);
  return q.dequantize().to(out_dtype.value_or(at::kFloat));
}

at::Tensor dequantize_per_channel(const at::Tensor& input, const at::Tensor& scales,
                                  const std::optional<at::Tensor>& zero_points, int64_t axis,
                                  int64_t, int64_t, at::ScalarType,
                                  std::optional<at::ScalarType> out_dtype) {
  const at::Tensor zeros = zero_points ? *zero_points : at::zeros(scales.sizes(), at::kLong);
  const at::Tensor q = at::_make_per_channel_quantized_tensor(input, scales, zeros, axis);
  return q.dequantize().to(out_dtype.value_or(at::kFloat));
}

// The bias of a quantized layer as the integers that its sums are made of: in units of the input's
// scale times the weight's. A float as it is where those are too small for it.
at::Tensor quantized_bias(const at::Tensor& bias, const at::Tensor& weight, double input_scale) {
  const bool per_channel = weight.qscheme() != at::kPerTensorAffine;
  const at::Tensor scales = per_channel
                                ? at::q_per_channel_scales(weight).to(at::kDouble).mul(input_scale)
                                : at::scalar_tensor(at::q_scale(weight) * input_scale, at::kDouble);
  const at::Tensor integers = bias.detach().to(at::kDouble).div(scales);
  const double most = std::numeric_limits<int32_t>::max() / 2;
  if (!at::isfinite(integers).all().item<bool>() || integers.abs().gt(most).any().item<bool>())
    return bias;
  if (!per_channel)
    return at::quantize_per_tensor(bias.to(at::kFloat), scales.item<double>(), 0, at::kQInt32);
  const at::Tensor zeros = at::zeros(scales.sizes(), at::kLong);
  return at::quantize_per_channel(bias.to(at::kFloat), scales, zeros, 0, at::kQInt32);
}

// The scale and zero point of each row of a weight, or 0-d those of all.
std::tuple<at::Tensor, at::Tensor> weight_steps(const at::Tensor& weight) {
  if (weight.qscheme() == at::kPerTensorAffine)
    return {at::scalar_tensor(at::q_scale(weight), at::kFloat),
            at::scalar_tensor(at::q_zero_point(weight), at::kLong)};
  return {at::q_per_channel_scales(weight).to(at::kFloat),
          at::q_per_channel_zero_points(weight).to(at::kLong)};
}

// Sums of products of integers around their zero points, in 32 bits.
at::Tensor integer_linear(const at::Tensor& input, const at::Tensor& weight,
                          int64_t input_zero_point, const at::Tensor& weight_zero_point) {
  const at::Tensor rows =
      weight_zero_point.dim() ? weight_zero_point.unsqueeze(1) : weight_zero_point;
  const at::Tensor x = input.to(at::kDouble).sub(input_zero_point);
  return at::matmul(x, weight.to(at::kDouble).sub(rows).t()).to(at::kInt);
}

bool absent(const char* name) {
  return !c10::Dispatcher::singleton().findSchema({name, ""}).has_value();
}

}  // namespace

void register_quantized_operators() {
  // Live as long as the process: their destructors would take the operators away again.
  static torch::Library* const decomposed = [] {
    auto* l = new torch::Library(torch::Library::FRAGMENT, "quantized_decomposed", std::nullopt,
                                 "onnx-export", 0);
    const auto add = [&](const char* name, const char* signature, auto kernel) {
      if (absent((std::string("quantized_decomposed::") + name).c_str()))
        l->def((std::string(name) + signature).c_str(),
               torch::dispatch(c10::DispatchKey::CPU, kernel));
    };
    add("quantize_per_tensor",
        "(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
        "ScalarType dtype) -> Tensor",
        quantize_per_tensor);
    add("quantize_per_channel",
        "(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, "
        "int quant_max, ScalarType dtype) -> Tensor",
        quantize_per_channel);
    add("dequantize_per_tensor",
        "(Tensor input, float scale, int zero_point, int quant_min, int quant_max, "
        "ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_tensor);
    add("dequantize_per_channel",
        "(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, "
        "int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
        dequantize_per_channel);
    return l;
  }();
  static torch::Library* const own = [] {
    auto* l =
        new torch::Library(torch::Library::FRAGMENT, "onnx_export", std::nullopt, "onnx-export", 0);
    l->def("weight_steps(Tensor weight) -> (Tensor, Tensor)",
           torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, weight_steps));
    l->def(
        "integer_linear(Tensor input, Tensor weight, int input_zero_point, "
        "Tensor weight_zero_point) -> Tensor",
        torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, integer_linear));
    l->def("quantized_bias(Tensor bias, Tensor weight, float input_scale) -> Tensor",
           torch::dispatch(c10::DispatchKey::CompositeExplicitAutograd, quantized_bias));
    return l;
  }();
  (void)decomposed;
  (void)own;
}

}  // namespace oe::torch_io
