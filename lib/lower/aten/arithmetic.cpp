// Sums, products, quotients, powers of tensors and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

bool is_one(const Scalar& s) { return s.known && s.d == 1; }

// a + alpha * b; for bools the sum is "or", and alpha "and".
T sum(Call& g, T a, T b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  if (t == DType::Bool) {
    a = cast(a, t), b = cast(b, t);
    return a | (is_one(alpha) ? b : b & g.scalar(alpha, t));
  }
  // One rounding only where alpha adds a step.
  const DType c = is_one(alpha) ? t : compute_type(t);
  a = cast(a, c), b = cast(b, c);
  if (!is_one(alpha)) b = b * g.scalar(alpha, c);
  return a + b;
}

// a - alpha * b.
T difference(Call& g, T a, T b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  const DType c = is_one(alpha) ? t : compute_type(t);
  a = cast(a, c), b = cast(b, c);
  if (!is_one(alpha)) b = b * g.scalar(alpha, c);
  return a - b;
}

using Binary = T (*)(T, T);

// An operand as the kernel reads it: in the result's type, then in the type it computes in.
T operand(Call& g, T v) {
  const DType t = g.result_dtype();
  return cast(cast(v, t), compute_type(t));
}
T operand(Call& g, const Scalar& s) { return operand(g, g.scalar(s, g.result_dtype())); }

T wide(Call& g, T a, T b, Binary f) { return f(operand(g, a), operand(g, b)); }

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
T rounded(Call& g, T a, T b, Binary f) {
  T y = keeps_float(g, b) ? cast(b, compute_type(g.result_dtype())) : operand(g, b);
  return f(operand(g, a), y);
}

T product(Call& g, T a, T b) {
  if (g.result_dtype() != DType::Bool) return scaled<mul>(g, a, b);
  auto [x, y] = arithmetic(g, a, b);
  return x & y;
}

T quotient(Call& g, T a, T b, const std::optional<std::string>& mode) {
  if (!mode) return scaled<div>(g, a, b);
  return rounded(g, a, b, *mode == "floor" ? floor_div : trunc_div);
}

T value(Call& g, const Scalar& s) { return g.scalar(s, g.result_dtype()); }
// Not rounded to a half type yet.
T factor(Call& g, const Scalar& s) { return g.scalar(s, compute_type(g.result_dtype())); }

// pow(Tensor, Scalar) with the special cases of ATen's kernel, whose rounding differs from pow's.
T power_of(Call& g, T x, const Scalar& exponent) {
  const DType t = g.result_dtype();
  if (!exponent.known) return power(operand(g, x), operand(g, exponent));
  const double e = exponent.d;
  if (!is_float(t)) {
    if (exponent.i < 0) return power(cast(x, t), g.integer(exponent.i, t));
    return power(cast(x, t), exponent.i);
  }
  return computed(g, x, [&](T v) -> T {
    if (e == 0.5) return sqrt(v);
    if (e == -0.5) return reciprocal(sqrt(v));
    if (e == -1) return reciprocal(v);
    if (e == -2) return reciprocal(v * v);
    if (e == 0 || e == 1 || e == 2 || e == 3) return power(v, static_cast<int64_t>(e));
    return node("Pow", {v, operand(g, exponent)});
  });
}

// start + weight * (end - start), from the nearer end as ATen does.
T lerp(Call& g, T start, T end, T weight) {
  const DType c = compute_type(g.result_dtype());
  start = cast(start, c), end = cast(end, c), weight = cast(weight, c);
  T span = end - start;
  T near = start + weight * span;
  T far = end - span * (1 - weight);
  return where(abs(weight) < 0.5, near, far);
}

T lerp_number(Call& g, T start, T end, const Scalar& weight) {
  const DType c = compute_type(g.result_dtype());
  if (!weight.known) return lerp(g, start, end, g.scalar(weight, c));
  start = cast(start, c), end = cast(end, c);
  T span = end - start;
  if (std::fabs(weight.d) < 0.5) return start + weight.d * span;
  return end - span * (1 - weight.d);
}

// self + value * (a op b).
template <FixedString Op>
constexpr auto fused = [](Call& g, T self, T a, T b, const Scalar& value) {
  const DType c = compute_type(g.result_dtype());
  self = cast(self, c), a = cast(a, c), b = cast(b, c);
  if (!is_one(value)) a = g.scalar(value, c) * a;
  return self + node(Op.view(), {a, b});
};

constexpr auto add_number = [](Call& g, T a, const Scalar& b, const Scalar& alpha) {
  return sum(g, a, value(g, b), alpha);
};
constexpr auto sub_number = [](Call& g, T a, const Scalar& b, const Scalar& alpha) {
  return difference(g, a, value(g, b), alpha);
};
constexpr auto mul_number = [](Call& g, T a, const Scalar& b) {
  return product(g, a, factor(g, b));
};
constexpr auto div_tensor = [](Call& g, T a, T b) { return quotient(g, a, b, std::nullopt); };
constexpr auto div_number = [](Call& g, T a, const Scalar& b) {
  return quotient(g, a, factor(g, b), std::nullopt);
};
constexpr auto div_number_mode = [](Call& g, T a, const Scalar& b,
                                    std::optional<std::string> mode) {
  return quotient(g, a, factor(g, b), mode);
};
// f(Tensor, Tensor), f(Tensor, number) and f(number, Tensor) in the computing type.
template <Binary F>
constexpr auto tensors = [](Call& g, T a, T b) { return wide(g, a, b, F); };
// Without rounding there is no need for a wider type.
template <Binary F>
constexpr auto exact = [](Call& g, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  return F(x, y);
};
template <Binary F>
constexpr auto tensor_number =
    [](Call& g, T a, const Scalar& b) { return F(operand(g, a), operand(g, b)); };
template <Binary F>
constexpr auto number_tensor =
    [](Call& g, const Scalar& a, T b) { return F(operand(g, a), operand(g, b)); };

constexpr Lowering table[] = {
    op<sum>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_number),
    op<difference>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", sub_number),
    op("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       [](Call& g, T a, const Scalar& b, const Scalar& alpha) {
         return difference(g, value(g, b), a, alpha);
       }),
    op<product>("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor"),
    op("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", mul_number),
    op("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", div_tensor),
    op("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", div_number),
    op<quotient>(
        "aten::div.Tensor_mode(Tensor self, Tensor other, *, str? rounding_mode) -> Tensor"),
    op("aten::div.Scalar_mode(Tensor self, Scalar other, *, str? rounding_mode) -> Tensor",
       div_number_mode),
    op("aten::floor_divide(Tensor self, Tensor other) -> Tensor",
       [](Call& g, T a, T b) { return rounded(g, a, b, floor_div); }),
    op("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
       [](Call& g, T a, const Scalar& b) { return rounded(g, a, factor(g, b), floor_div); }),
    op("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", tensors<remainder>),
    op("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", tensor_number<remainder>),
    op("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_tensor<remainder>),
    op("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", tensors<fmod>),
    op("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", tensor_number<fmod>),
    op(names("aten::pow.Tensor_Tensor", "aten::float_power.Tensor_Tensor"),
       "(Tensor self, Tensor exponent) -> Tensor", tensors<power>),
    op<power_of>(names("aten::pow.Tensor_Scalar", "aten::float_power.Tensor_Scalar"),
                 "(Tensor self, Scalar exponent) -> Tensor"),
    op(names("aten::pow.Scalar", "aten::float_power.Scalar"),
       "(Scalar self, Tensor exponent) -> Tensor", number_tensor<power>),
    op(names("aten::maximum", "aten::max.other"), "(Tensor self, Tensor other) -> Tensor",
       exact<maximum>),
    op(names("aten::minimum", "aten::min.other"), "(Tensor self, Tensor other) -> Tensor",
       exact<minimum>),
    op<lerp_number>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"),
    op<lerp>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"),
    op("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       fused<"Mul">),
    op("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       fused<"Div">),
    op("aten::atan2(Tensor self, Tensor other) -> Tensor", tensors<atan2>),
};

}  // namespace

Table arithmetic_rows() { return table; }

}  // namespace oe::lower
