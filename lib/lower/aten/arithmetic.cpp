// Sums, products, quotients, powers of tensors and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

bool is_one(const Scalar& s) { return s.known && s.d == 1; }

// An operand as the kernel reads it: in the result's type, then in the type it computes in.
T operand(Call& g, T v) {
  const DType t = g.result_dtype();
  return cast(cast(v, t), compute_type(t));
}

// a + alpha * b; for bools the sum is "or", and alpha "and".
T sum(Call& g, T a, T b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  if (t == DType::Bool) {
    a = cast(a, t), b = cast(b, t);
    return a | (is_one(alpha) ? b : b & g.scalar(alpha, t));
  }
  // One rounding only where alpha adds a step.
  if (is_one(alpha)) return cast(a, t) + cast(b, t);
  return operand(g, a) + operand(g, b) * g.scalar(alpha, compute_type(t));
}

// a - alpha * b.
T difference(Call& g, T a, T b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  if (is_one(alpha)) return cast(a, t) - cast(b, t);
  return operand(g, a) - operand(g, b) * g.scalar(alpha, compute_type(t));
}
T difference_from(Call& g, T a, T b, const Scalar& alpha) { return difference(g, b, a, alpha); }

using Binary = T (*)(T, T);

// ATen's products and quotients of half types do not round a 0-d second operand, a number or a
// tensor of another type, to half (BinaryOpsKernel.cpp, opmath). A constant that half holds
// exactly is the same in both.
bool keeps_float(Call& g, T b) {
  const DType t = g.result_dtype();
  if (compute_type(t) == t || b.dtype() == t || !b->type.shape || !b->type.shape->empty())
    return false;
  if (!b->data) return true;
  const double v = b->data->as_double()[0];
  return g.number(v, t)->data->as_double()[0] != v && !std::isnan(v);
}

template <Binary F>
T scaled(Call& g, T a, T b) {
  const DType t = g.result_dtype();
  const DType c = keeps_float(g, b) ? compute_type(t) : t;
  return F(cast(cast(a, t), c), cast(b, c));
}

// The same where the kernel computes in float anyway.
template <Binary F>
T rounded(Call& g, T a, T b) {
  T y = keeps_float(g, b) ? cast(b, compute_type(g.result_dtype())) : operand(g, b);
  return F(operand(g, a), y);
}

T product(Call& g, T a, T b) {
  const DType t = g.result_dtype();
  return t == DType::Bool ? cast(a, t) & cast(b, t) : scaled<mul>(g, a, b);
}

T quotient(Call& g, T a, T b, const std::optional<std::string>& mode) {
  if (!mode) return scaled<div>(g, a, b);
  return *mode == "floor" ? rounded<floor_div>(g, a, b) : rounded<trunc_div>(g, a, b);
}

// pow(Tensor, Scalar) with the special cases of ATen's kernel, whose rounding differs from pow's.
T power_of(T x, T exponent) {
  const auto e = scalar(exponent);
  if (!e) return power(x, exponent);
  if (!is_float(x.dtype())) return *e < 0 ? power(x, exponent) : power(x, static_cast<int64_t>(*e));
  if (*e == 0.5) return sqrt(x);
  if (*e == -0.5) return reciprocal(sqrt(x));
  if (*e == -1) return reciprocal(x);
  if (*e == -2) return reciprocal(x * x);
  // As Pow, which the fusions of RMS norms and of GELU look for. ONNX Runtime multiplies there too.
  if ((*e == 2 || *e == 3) && (x.dtype() == DType::Float || x.dtype() == DType::Double))
    return node("Pow", {x, number(*e, x)});
  if (*e == 0 || *e == 1 || *e == 2 || *e == 3) return power(x, static_cast<int64_t>(*e));
  return node("Pow", {x, exponent});
}
constexpr auto power_of_tensors = [](T x, T exponent) { return power(x, exponent); };

// start + weight * (end - start), from the nearer end as ATen does.
T lerp(T start, T end, T weight) {
  T span = end - start;
  T near = start + weight * span;
  T far = end - span * (1 - weight);
  return where(abs(weight) < 0.5, near, far);
}

// A number as the weight is not rounded to a half type.
T lerp_number(Call& g, T start, T end, const Scalar& weight) {
  const DType c = compute_type(g.result_dtype());
  start = cast(start, c), end = cast(end, c);
  if (!weight.known) return lerp(start, end, g.scalar(weight, c));
  T span = end - start;
  if (std::fabs(weight.d) < 0.5) return start + weight.d * span;
  return end - span * (1 - weight.d);
}

// self + value * (a op b).
template <Binary F>
T fused(Call& g, T self, T a, T b, const Scalar& value) {
  a = operand(g, a), b = operand(g, b);
  if (!is_one(value)) a = g.scalar(value, a.dtype()) * a;
  return operand(g, self) + F(a, b);
}

constexpr Lowering table[] = {
    op<sum>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op<sum>("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    op<difference>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op<difference>("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    op<difference_from>("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor"),
    op<product>("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<product>("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<scaled<div>>("aten::div.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<scaled<div>>("aten::div.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<quotient>(
        "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    op<quotient>(
        "aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor"),
    op<rounded<floor_div>>("aten::floor_divide(Tensor self, Tensor other) -> Tensor"),
    op<rounded<floor_div>>("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor"),
    wide<remainder>("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor"),
    wide<remainder>("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor"),
    wide<remainder>("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    wide<fmod>("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor"),
    wide<fmod>("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor"),
    wide(names("aten::pow.Tensor_Tensor", "aten::float_power.Tensor_Tensor"),
         "(Tensor self, Tensor exponent) -> Tensor", power_of_tensors),
    wide<power_of>(names("aten::pow.Tensor_Scalar", "aten::float_power.Tensor_Scalar"),
                   "(Tensor self, Scalar exponent) -> Tensor"),
    wide(names("aten::pow.Scalar", "aten::float_power.Scalar"),
         "(Scalar self, Tensor exponent) -> Tensor", power_of_tensors),
    typed(names("aten::maximum", "aten::max.other"), "(Tensor self, Tensor other) -> Tensor",
          [](T a, T b) { return maximum(a, b); }),
    typed(names("aten::minimum", "aten::min.other"), "(Tensor self, Tensor other) -> Tensor",
          [](T a, T b) { return minimum(a, b); }),
    op<lerp_number>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"),
    wide<lerp>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"),
    op<fused<mul>>(
        "aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    op<fused<div>>(
        "aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor"),
    wide<atan2>("aten::atan2(Tensor self, Tensor other) -> Tensor"),
};

}  // namespace

Table arithmetic_rows() { return table; }

}  // namespace oe::lower
