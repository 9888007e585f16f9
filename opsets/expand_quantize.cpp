// Quantization in arithmetic: per channel below opset 13, all of it below 10.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

bool is_zero(T constant) {
  const TensorPtr t = content(constant);
  return t && std::ranges::all_of(t->as_int64(), [](int64_t v) { return v == 0; });
}

// The node's input i, spread over the axis it is for; null where it is left out or zero.
T spread(Rewriter& r, const ir::Node& n, size_t i) {
  T v = r.at(n.input(i));
  if (!v || (i == 2 && is_zero(v))) return nullptr;
  if (v.rank() == 0) return v;
  const int64_t rank = r.at(n.input(0)).rank();
  return along(v, wrapped(n.attributes.get_or<int64_t>("axis", 1), rank), rank);
}

}  // namespace

T round_to_even(T x) {
  if (x.builder().opset() >= 11) return unary("Round", x);
  const DType t = x.dtype();
  T half = x.builder().number(0.5, t), below = floor(x);
  T rest = x - below;
  // floor is odd where floor - 2 * Floor(floor / 2) is one; NaN compares as false everywhere.
  T even = floor(below * half);
  T parity = below - (even + even);
  T tie_up = ~(rest < half) & (parity > half);
  T up = (rest > half) | tie_up;
  return below + cast(up, t);
}

void quantize_linear(Rewriter& r, ir::Node& n) {
  T scale = spread(r, n, 1), zero_point = spread(r, n, 2);
  const DType to = n.outputs[0]->type.dtype, t = r.in(0).dtype();
  T steps = round_to_even(r.in(0) / scale);
  if (zero_point) steps = steps + cast(zero_point, t);
  const bool is_signed = to == DType::Int8;
  steps = minimum(maximum(steps, is_signed ? -128 : 0), is_signed ? 127 : 255);
  r.bind(n.outputs[0], cast(steps, to));
}

T dequantized(Rewriter& r, const ir::Node& n) {
  T scale = spread(r, n, 1), zero_point = spread(r, n, 2);
  const DType t = scale.dtype();
  T steps = cast(r.at(n.input(0)), t);
  if (zero_point) steps = steps - cast(zero_point, t);
  return steps * scale;
}

void dequantize_linear(Rewriter& r, ir::Node& n) {
  if (r.opset() < 10) return r.bind(n.outputs[0], dequantized(r, n));
  T x = r.in(0), scale = spread(r, n, 1), zero_point = spread(r, n, 2);
  const DType t = scale.dtype();
  // With a scale of 1 and not as a Cast: ONNX Runtime would find a constant of floats behind that,
  // and quantize it by rules of its own.
  T steps = node("DequantizeLinear", {x, r.number(1, t)}, {}, like(x, t));
  if (zero_point) steps = steps - cast(zero_point, t);
  r.bind(n.outputs[0], steps * scale);
}

// Sums of products of bytes are exact in double.
void matmul_integer(Rewriter& r, ir::Node& n) {
  const auto around_zero = [&](size_t i) {
    T v = cast(r.in(i), DType::Double);
    T zero_point = r.in(i + 2);
    return zero_point && !is_zero(zero_point) ? v - cast(zero_point, DType::Double) : v;
  };
  r.bind(n.outputs[0], cast(matmul(around_zero(0), around_zero(1)), DType::Int32));
}

}  // namespace oe::opsets
