// Sums, products, quotients, powers of tensors and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

bool is_one(const Scalar& s) { return s.known && s.d == 1; }

// a + alpha * b; for bools the sum is "or", and alpha "and".
Value sum(Emit& g, Value a, Value b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  if (t == DType::Bool) {
    a = g.cast(a, t), b = g.cast(b, t);
    return g.node("Or", {a, is_one(alpha) ? b : g.node("And", {b, g.scalar(alpha, t)})});
  }
  // One rounding only where alpha adds a step.
  const DType c = is_one(alpha) ? t : compute_type(t);
  a = g.cast(a, c), b = g.cast(b, c);
  if (!is_one(alpha)) b = pw::mul(g, b, g.scalar(alpha, c));
  return pw::add(g, a, b);
}

// a - alpha * b.
Value difference(Emit& g, Value a, Value b, const Scalar& alpha) {
  const DType t = g.result_dtype();
  const DType c = is_one(alpha) ? t : compute_type(t);
  a = g.cast(a, c), b = g.cast(b, c);
  if (!is_one(alpha)) b = pw::mul(g, b, g.scalar(alpha, c));
  return pw::sub(g, a, b);
}

using Binary = Value (*)(Emit&, Value, Value);

// An operand as the kernel reads it: in the result's type, then in the type it computes in.
Value operand(Emit& g, Value v) {
  const DType t = g.result_dtype();
  return g.cast(g.cast(v, t), compute_type(t));
}
Value operand(Emit& g, const Scalar& s) { return operand(g, g.scalar(s, g.result_dtype())); }

Value wide(Emit& g, Value a, Value b, Binary f) { return f(g, operand(g, a), operand(g, b)); }

// ATen's products and quotients of half types do not round a 0-d second operand, a number or a
// tensor of another type, to half (BinaryOpsKernel.cpp, opmath). A constant that half holds
// exactly is the same in both.
bool keeps_float(Emit& g, Value b) {
  const DType t = g.result_dtype();
  if (compute_type(t) == t || g.dtype(b) == t || !b->type.shape || !b->type.shape->empty())
    return false;
  if (!b->data) return true;
  const double v = b->data->as_double()[0];
  return g.number(v, t)->data->as_double()[0] != v && !std::isnan(v);
}

template <Binary F>
Value scaled(Emit& g, Value a, Value b) {
  const DType t = g.result_dtype();
  const DType c = keeps_float(g, b) ? compute_type(t) : t;
  return F(g, g.cast(g.cast(a, t), c), g.cast(b, c));
}

// The same where the kernel computes in float anyway.
Value rounded(Emit& g, Value a, Value b, Binary f) {
  Value y = keeps_float(g, b) ? g.cast(b, compute_type(g.result_dtype())) : operand(g, b);
  return f(g, operand(g, a), y);
}

Value product(Emit& g, Value a, Value b) {
  if (g.result_dtype() != DType::Bool) return scaled<pw::mul>(g, a, b);
  auto [x, y] = arithmetic(g, a, b);
  return pw::both(g, x, y);
}

Value quotient(Emit& g, Value a, Value b, const std::optional<std::string>& mode) {
  if (!mode) return scaled<pw::div>(g, a, b);
  return rounded(g, a, b, *mode == "floor" ? pw::floor_div : pw::trunc_div);
}

Value value(Emit& g, const Scalar& s) { return g.scalar(s, g.result_dtype()); }
// Not rounded to a half type yet.
Value factor(Emit& g, const Scalar& s) { return g.scalar(s, compute_type(g.result_dtype())); }

// pow(Tensor, Scalar) with the special cases of ATen's kernel, whose rounding differs from pow's.
Value power_of(Emit& g, Value x, const Scalar& exponent) {
  const DType t = g.result_dtype();
  if (!exponent.known) return pw::power(g, operand(g, x), operand(g, exponent));
  const double e = exponent.d;
  if (!is_float(t)) {
    if (exponent.i < 0) return pw::power(g, g.cast(x, t), g.integer(exponent.i, t));
    return pw::power(g, g.cast(x, t), exponent.i);
  }
  return computed(g, x, [&](Value v) -> Value {
    if (e == 0.5) return g.node("Sqrt", {v});
    if (e == -0.5) return g.node("Reciprocal", {g.node("Sqrt", {v})});
    if (e == -1) return g.node("Reciprocal", {v});
    if (e == -2) return g.node("Reciprocal", {pw::mul(g, v, v)});
    if (e == 0 || e == 1 || e == 2 || e == 3) return pw::power(g, v, static_cast<int64_t>(e));
    return g.node("Pow", {v, operand(g, exponent)});
  });
}

// start + weight * (end - start), from the nearer end as ATen does.
Value lerp(Emit& g, Value start, Value end, Value weight) {
  const DType c = compute_type(g.result_dtype());
  start = g.cast(start, c), end = g.cast(end, c), weight = g.cast(weight, c);
  Value span = pw::sub(g, end, start);
  Value near = pw::add(g, start, pw::mul(g, weight, span));
  Value far = pw::sub(g, end, pw::mul(g, span, pw::sub(g, pw::num(g, 1, weight), weight)));
  return pw::where(g, pw::less(g, pw::abs(g, weight), pw::num(g, 0.5, weight)), near, far);
}

Value lerp_number(Emit& g, Value start, Value end, const Scalar& weight) {
  const DType c = compute_type(g.result_dtype());
  if (!weight.known) return lerp(g, start, end, g.scalar(weight, c));
  start = g.cast(start, c), end = g.cast(end, c);
  Value span = pw::sub(g, end, start);
  if (std::fabs(weight.d) < 0.5) return pw::add(g, start, pw::mul(g, g.number(weight.d, c), span));
  return pw::sub(g, end, pw::mul(g, span, g.number(1 - weight.d, c)));
}

// self + value * (a op b).
template <FixedString Op>
constexpr auto fused = [](Emit& g, Value self, Value a, Value b, const Scalar& value) {
  const DType c = compute_type(g.result_dtype());
  self = g.cast(self, c), a = g.cast(a, c), b = g.cast(b, c);
  if (!is_one(value)) a = pw::mul(g, g.scalar(value, c), a);
  return pw::add(g, self, g.node(Op.view(), {a, b}));
};

constexpr auto add_number = [](Emit& g, Value a, const Scalar& b, const Scalar& alpha) {
  return sum(g, a, value(g, b), alpha);
};
constexpr auto sub_number = [](Emit& g, Value a, const Scalar& b, const Scalar& alpha) {
  return difference(g, a, value(g, b), alpha);
};
constexpr auto mul_number = [](Emit& g, Value a, const Scalar& b) {
  return product(g, a, factor(g, b));
};
constexpr auto div_tensor = [](Emit& g, Value a, Value b) {
  return quotient(g, a, b, std::nullopt);
};
constexpr auto div_number = [](Emit& g, Value a, const Scalar& b) {
  return quotient(g, a, factor(g, b), std::nullopt);
};
constexpr auto div_number_mode = [](Emit& g, Value a, const Scalar& b,
                                    std::optional<std::string> mode) {
  return quotient(g, a, factor(g, b), mode);
};
// f(Tensor, Tensor), f(Tensor, number) and f(number, Tensor) in the computing type.
template <Binary F>
constexpr auto tensors = [](Emit& g, Value a, Value b) { return wide(g, a, b, F); };
// Without rounding there is no need for a wider type.
template <Binary F>
constexpr auto exact = [](Emit& g, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  return F(g, x, y);
};
template <Binary F>
constexpr auto tensor_number =
    [](Emit& g, Value a, const Scalar& b) { return F(g, operand(g, a), operand(g, b)); };
template <Binary F>
constexpr auto number_tensor =
    [](Emit& g, const Scalar& a, Value b) { return F(g, operand(g, a), operand(g, b)); };

constexpr Lowering table[] = {
    op<sum>("aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", add_number),
    op<difference>("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"),
    op("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor", sub_number),
    op("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       [](Emit& g, Value a, const Scalar& b, const Scalar& alpha) {
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
       [](Emit& g, Value a, Value b) { return rounded(g, a, b, pw::floor_div); }),
    op("aten::floor_divide.Scalar(Tensor self, Scalar other) -> Tensor",
       [](Emit& g, Value a, const Scalar& b) {
         return rounded(g, a, factor(g, b), pw::floor_div);
       }),
    op("aten::remainder.Tensor(Tensor self, Tensor other) -> Tensor", tensors<pw::remainder>),
    op("aten::remainder.Scalar(Tensor self, Scalar other) -> Tensor", tensor_number<pw::remainder>),
    op("aten::remainder.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_tensor<pw::remainder>),
    op("aten::fmod.Tensor(Tensor self, Tensor other) -> Tensor", tensors<pw::fmod>),
    op("aten::fmod.Scalar(Tensor self, Scalar other) -> Tensor", tensor_number<pw::fmod>),
    op("aten::pow.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor", tensors<pw::power>),
    op<power_of>("aten::pow.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
    op("aten::pow.Scalar(Scalar self, Tensor exponent) -> Tensor", number_tensor<pw::power>),
    op("aten::float_power.Tensor_Tensor(Tensor self, Tensor exponent) -> Tensor",
       tensors<pw::power>),
    op<power_of>("aten::float_power.Tensor_Scalar(Tensor self, Scalar exponent) -> Tensor"),
    op("aten::float_power.Scalar(Scalar self, Tensor exponent) -> Tensor",
       number_tensor<pw::power>),
    op("aten::maximum(Tensor self, Tensor other) -> Tensor", exact<pw::maximum>),
    op("aten::minimum(Tensor self, Tensor other) -> Tensor", exact<pw::minimum>),
    op("aten::max.other(Tensor self, Tensor other) -> Tensor", exact<pw::maximum>),
    op("aten::min.other(Tensor self, Tensor other) -> Tensor", exact<pw::minimum>),
    op<lerp_number>("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor"),
    op<lerp>("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor"),
    op("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       fused<"Mul">),
    op("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       fused<"Div">),
    op("aten::atan2(Tensor self, Tensor other) -> Tensor", tensors<pw::atan2>),
};

}  // namespace

Table arithmetic_rows() { return table; }

}  // namespace oe::lower
