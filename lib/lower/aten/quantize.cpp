// Floats to integers and back: QuantizeLinear and DequantizeLinear, which ONNX Runtime fuses with
// what stands between them to integer kernels.
#include <cstdint>
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

bool is_byte(DType t) { return t == DType::UInt8 || t == DType::Int8; }

double lowest(DType t) { return t == DType::UInt8 ? 0 : t == DType::Int8 ? -128 : INT32_MIN; }
double highest(DType t) { return t == DType::UInt8 ? 255 : t == DType::Int8 ? 127 : INT32_MAX; }

// The linear operators take any scale that is a vector as one for each entry of `axis`.
ir::Attributes on_axis(std::optional<int64_t> axis) {
  return axis ? ir::Attributes{{"axis", *axis}} : ir::Attributes{};
}

T quantized(T x, T scale, T zero_point, std::optional<int64_t> axis, int64_t quant_min,
            int64_t quant_max, DType to) {
  x = cast(x, DType::Float);
  scale = cast(scale, DType::Float);
  if (!is_byte(to)) {
    // No operator for 32 bits. Integers of double, in which their bounds are exact.
    if (axis) {
      scale = along(scale, *axis, x.rank());
      zero_point = along(zero_point, *axis, x.rank());
    }
    T steps = cast(unary("Round", x / scale), DType::Double) + cast(zero_point, DType::Double);
    return cast(
        minimum(maximum(steps, static_cast<double>(quant_min)), static_cast<double>(quant_max)),
        to);
  }
  T q = node("QuantizeLinear", {x, scale, cast(zero_point, to)}, on_axis(axis),
             ir::Type::tensor(to, x->type.shape));
  if (static_cast<double>(quant_min) > lowest(to)) q = maximum(q, quant_min);
  if (static_cast<double>(quant_max) < highest(to)) q = minimum(q, quant_max);
  return q;
}

T dequantized(T q, T scale, T zero_point, std::optional<int64_t> axis,
              std::optional<DType> out_dtype) {
  scale = cast(scale, DType::Float);
  Values inputs = {q, scale};
  if (is_byte(q.dtype())) {
    if (zero_point) inputs.push_back(cast(zero_point, q.dtype()));
  } else if (zero_point) {
    // Of 32 bits only those around zero are taken.
    const TensorPtr known = content(zero_point);
    bool zero = known != nullptr;
    if (known)
      for (const int64_t z : known->as_int64()) zero = zero && z == 0;
    if (!zero) {
      if (axis) zero_point = along(zero_point, *axis, q.rank());
      inputs[0] = q - cast(zero_point, q.dtype());
    }
  }
  T y = node("DequantizeLinear", inputs, on_axis(axis),
             ir::Type::tensor(DType::Float, q->type.shape));
  return cast(y, out_dtype.value_or(DType::Float));
}

constexpr Lowering table[] = {
    op("onnx_export::integer_linear(Tensor input, Tensor weight, int input_zero_point, Tensor weight_zero_point) -> Tensor",
       [](T x, T weight, T input_zero_point, T weight_zero_point) {
         return node("MatMulInteger",
                     {x, transpose(weight, {1, 0}), cast(input_zero_point, x.dtype()),
                      cast(weight_zero_point, weight.dtype())});
       }),
    op("quantized_decomposed::quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       [](T x, T scale, T zero_point, int64_t low, int64_t high, DType to) {
         return quantized(x, scale, zero_point, std::nullopt, low, high, to);
       }),
    op("quantized_decomposed::quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
       [](T x, T scales, T zero_points, Axis axis, int64_t low, int64_t high, DType to) {
         return quantized(x, scales, zero_points, axis, low, high, to);
       }),
    op("quantized_decomposed::dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
       [](T q, T scale, T zero_point, Skip, Skip, Skip, std::optional<DType> out_dtype) {
         return dequantized(q, scale, zero_point, std::nullopt, out_dtype);
       }),
    op("quantized_decomposed::dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, *, ScalarType? out_dtype=None) -> Tensor",
       [](T q, T scales, std::optional<T> zero_points, Axis axis, Skip, Skip, Skip,
          std::optional<DType> out_dtype) {
         return dequantized(q, scales, zero_points.value_or(nullptr), axis, out_dtype);
       }),
};

}  // namespace

Table quantize_rows() { return table; }

}  // namespace oe::lower
