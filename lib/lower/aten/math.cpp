// Functions of one tensor: roots, exponentials, trigonometry, rounding, limits.
#include <cmath>
#include <limits>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using Unary = Value (*)(Emit&, Value);

// f in the type ATen computes in; the result is rounded once.
template <Unary F>
constexpr auto wide =
    [](Emit& g, Value x) { return computed(g, x, [&](Value v) { return F(g, v); }); };

// Op for floats; integers are whole already.
template <FixedString Op>
constexpr auto rounding =
    [](Emit& g, Value x) { return is_float(g.dtype(x)) ? g.node(Op.view(), {x}) : x; };

Value negate(Emit& g, Value x) {
  if (pw::unsigned_type(g.dtype(x))) return pw::sub(g, pw::num(g, 0, x), x);
  return pw::neg(g, x);
}

// (0 < x) - (x < 0): 0 for NaN, as ATen computes it. ONNX's Sign gives NaN.
Value sign(Emit& g, Value x) {
  if (g.dtype(x) == DType::Bool) return x;
  if (!is_float(g.dtype(x))) return g.node("Sign", {x});
  Value zero = pw::num(g, 0, x);
  return pw::sub(g, g.cast(pw::greater(g, x, zero), g.dtype(x)),
                 g.cast(pw::less(g, x, zero), g.dtype(x)));
}

Value square(Emit& g, Value x) {
  x = g.cast(x, g.result_dtype());
  return pw::mul(g, x, x);
}

Value rsqrt(Emit& g, Value x) { return g.node("Reciprocal", {g.node("Sqrt", {x})}); }
Value exp2(Emit& g, Value x) { return g.node("Pow", {pw::num(g, 2, x), x}); }
Value log2(Emit& g, Value x) { return pw::log_base(g, x, 2); }
Value log10(Emit& g, Value x) { return pw::log_base(g, x, 10); }
Value erfc(Emit& g, Value x) { return pw::sub(g, pw::num(g, 1, x), g.node("Erf", {x})); }
Value degrees(Emit& g, Value x) { return pw::mul(g, x, pw::num(g, 180 / std::numbers::pi, x)); }
Value radians(Emit& g, Value x) { return pw::mul(g, x, pw::num(g, std::numbers::pi / 180, x)); }

// sin(pi x) / (pi x), and 1 at 0.
Value sinc(Emit& g, Value x) {
  Value p = pw::mul(g, x, pw::num(g, std::numbers::pi, x));
  return pw::where(g, pw::to_bool(g, x), pw::div(g, g.node("Sin", {p}), p), pw::num(g, 1, x));
}

Value frac(Emit& g, Value x) { return pw::sub(g, x, pw::trunc(g, x)); }

// Half to even at a decimal place; negative places round to tens, hundreds, ...
Value round_decimals(Emit& g, Value x, int64_t decimals) {
  if (decimals == 0) return g.node("Round", {x});
  return computed(g, x, [&](Value v) {
    Value power = pw::num(g, std::pow(10.0, std::abs(static_cast<double>(decimals))), v);
    return decimals > 0 ? pw::div(g, g.node("Round", {pw::mul(g, v, power)}), power)
                        : pw::mul(g, g.node("Round", {pw::div(g, v, power)}), power);
  });
}

// clamp with bounds given as values; the lower bound is applied first, so the upper one wins.
Value clamp(Emit& g, Value x, std::optional<Value> low, std::optional<Value> high) {
  const DType t = g.result_dtype();
  x = g.cast(x, t);
  if (low) x = pw::maximum(g, x, g.cast(*low, t));
  if (high) x = pw::minimum(g, x, g.cast(*high, t));
  return x;
}

// Known bounds make a Clip. A NaN bound makes everything NaN, which Clip does not.
Value clamp_numbers(Emit& g, Value x, const std::optional<Scalar>& low,
                    const std::optional<Scalar>& high) {
  const DType t = g.result_dtype();
  const auto plain = [](const std::optional<Scalar>& s) {
    return !s || (s->known && !std::isnan(s->d));
  };
  const Value none = g.none();
  Value a = low ? g.scalar(*low, t) : none, b = high ? g.scalar(*high, t) : none;
  const bool reversed = low && high && low->known && high->known && low->d > high->d;
  // A bound that is left out is the type's largest number to Clip, which cuts infinities.
  if (a && b && plain(low) && plain(high) && !reversed && t != DType::Bool)
    return g.node("Clip", {g.cast(x, t), a, b});
  return clamp(g, x, a ? std::optional(a) : std::nullopt, b ? std::optional(b) : std::nullopt);
}

constexpr auto clamp_low = [](Emit& g, Value x, const Scalar& low) {
  return clamp_numbers(g, x, low, std::nullopt);
};
constexpr auto clamp_high = [](Emit& g, Value x, const Scalar& high) {
  return clamp_numbers(g, x, std::nullopt, high);
};

// ATen's order: NaN first, then the infinities; the defaults are 0 and the type's ends.
Value nan_to_num(Emit& g, Value x, const std::optional<double>& nan,
                 const std::optional<double>& highest, const std::optional<double>& lowest) {
  const DType t = g.dtype(x);
  if (!is_float(t)) return x;
  const double end = t == DType::Double     ? std::numeric_limits<double>::max()
                     : t == DType::Float16  ? 65504.0
                     : t == DType::BFloat16 ? std::ldexp(255.0, 120)
                                            : std::numeric_limits<float>::max();
  const double inf = std::numeric_limits<double>::infinity();
  Value up = pw::equal(g, x, pw::num(g, inf, x)), down = pw::equal(g, x, pw::num(g, -inf, x));
  x = pw::where(g, g.node("IsNaN", {x}), pw::num(g, nan.value_or(0), x), x);
  x = pw::where(g, up, pw::num(g, highest.value_or(end), x), x);
  return pw::where(g, down, pw::num(g, lowest.value_or(-end), x), x);
}

Value logit(Emit& g, Value x, const std::optional<double>& eps) {
  return computed(g, x, [&](Value v) {
    if (eps) v = g.node("Clip", {v, pw::num(g, *eps, v), pw::num(g, 1 - *eps, v)});
    return g.node("Log", {pw::div(g, v, pw::sub(g, pw::num(g, 1, v), v))});
  });
}

// x * log(y): 0 where x is 0, unless y is NaN.
Value xlogy(Emit& g, Value x, Value y) {
  const DType c = compute_type(g.result_dtype());
  x = g.cast(x, c), y = g.cast(y, c);
  Value safe = pw::both(g, pw::no(g, pw::to_bool(g, x)), pw::equal(g, y, y));
  return pw::where(g, safe, pw::num(g, 0, x), pw::mul(g, x, g.node("Log", {y})));
}

// log(base^a + base^b) without overflow; equal infinities are their own result.
Value logaddexp(Emit& g, Value a, Value b, double scale) {
  const DType c = compute_type(g.result_dtype());
  a = g.cast(a, c), b = g.cast(b, c);
  Value high = pw::maximum(g, a, b);
  Value gap = pw::neg(g, pw::abs(g, pw::sub(g, a, b)));
  Value tail = pw::log1p(g, g.node("Exp", {pw::mul(g, gap, pw::num(g, scale, gap))}));
  Value sum = pw::add(g, high, pw::div(g, tail, pw::num(g, scale, tail)));
  return pw::where(g, g.node("Equal", {a, b}), pw::add(g, a, pw::num(g, std::log(2) / scale, a)),
                   sum);
}

Value hypot(Emit& g, Value a, Value b) {
  const DType c = compute_type(g.result_dtype());
  a = pw::abs(g, g.cast(a, c)), b = pw::abs(g, g.cast(b, c));
  Value high = pw::maximum(g, a, b), low = pw::minimum(g, a, b);
  Value ratio = pw::div(g, low, high);
  Value length = g.node("Sqrt", {pw::add(g, pw::num(g, 1, a), pw::mul(g, ratio, ratio))});
  // 0 / 0 and inf / inf: the larger side is the length.
  Value flat = pw::either(g, pw::no(g, pw::to_bool(g, high)),
                          pw::equal(g, high, pw::num(g, INFINITY, high)));
  return pw::where(g, flat, high, pw::mul(g, high, length));
}

Value copysign(Emit& g, Value x, Value sign) {
  const DType t = g.result_dtype();
  x = pw::abs(g, g.cast(x, t)), sign = g.cast(sign, t);
  Value zero = pw::num(g, 0, sign);
  Value negative =
      pw::either(g, pw::less(g, sign, zero), pw::less(g, g.node("Reciprocal", {sign}), zero));
  return pw::where(g, negative, pw::neg(g, x), x);
}

Value heaviside(Emit& g, Value x, Value at_zero) {
  const DType t = g.dtype(x);
  Value step = g.cast(pw::less(g, pw::num(g, 0, x), x), t);
  return pw::where(g, pw::to_bool(g, x), step, g.cast(at_zero, t));
}

// NaN loses against a number here, unlike in maximum.
template <Value (*F)(Emit&, Value, Value)>
constexpr auto ignoring_nan = [](Emit& g, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  Value extreme = F(g, x, y);
  if (!is_float(g.dtype(x))) return extreme;
  Value right = pw::where(g, g.node("IsNaN", {y}), x, extreme);
  return pw::where(g, g.node("IsNaN", {x}), y, right);
};

constexpr Lowering table[] = {
    op<negate>("aten::neg(Tensor self) -> Tensor"),
    op("aten::abs(Tensor self) -> Tensor", same<"Abs">),
    op("prim::abs(Tensor x) -> Tensor", same<"Abs">),
    op<sign>("aten::sign(Tensor self) -> Tensor"),
    op<sign>("aten::sgn(Tensor self) -> Tensor"),
    op("aten::reciprocal(Tensor self) -> Tensor", same<"Reciprocal">),
    op("aten::sqrt(Tensor self) -> Tensor", same<"Sqrt">),
    op("aten::rsqrt(Tensor self) -> Tensor", wide<rsqrt>),
    op<square>("aten::square(Tensor self) -> Tensor"),
    op("aten::exp(Tensor self) -> Tensor", same<"Exp">),
    op("aten::exp2(Tensor self) -> Tensor", wide<exp2>),
    op("aten::expm1(Tensor self) -> Tensor", wide<pw::expm1>),
    op("aten::log(Tensor self) -> Tensor", same<"Log">),
    op("aten::log2(Tensor self) -> Tensor", wide<log2>),
    op("aten::log10(Tensor self) -> Tensor", wide<log10>),
    op("aten::log1p(Tensor self) -> Tensor", wide<pw::log1p>),
    op("aten::sin(Tensor self) -> Tensor", same<"Sin">),
    op("aten::cos(Tensor self) -> Tensor", same<"Cos">),
    op("aten::tan(Tensor self) -> Tensor", same<"Tan">),
    op("aten::asin(Tensor self) -> Tensor", same<"Asin">),
    op("aten::acos(Tensor self) -> Tensor", same<"Acos">),
    op("aten::atan(Tensor self) -> Tensor", same<"Atan">),
    op("aten::sinh(Tensor self) -> Tensor", same<"Sinh">),
    op("aten::cosh(Tensor self) -> Tensor", same<"Cosh">),
    op("aten::tanh(Tensor self) -> Tensor", same<"Tanh">),
    op("aten::asinh(Tensor self) -> Tensor", same<"Asinh">),
    op("aten::acosh(Tensor self) -> Tensor", same<"Acosh">),
    op("aten::atanh(Tensor self) -> Tensor", same<"Atanh">),
    op("aten::erf(Tensor self) -> Tensor", same<"Erf">),
    op("aten::erfc(Tensor self) -> Tensor", wide<erfc>),
    op("aten::sinc(Tensor self) -> Tensor", wide<sinc>),
    op("aten::deg2rad(Tensor self) -> Tensor", wide<radians>),
    op("aten::rad2deg(Tensor self) -> Tensor", wide<degrees>),
    op("aten::floor(Tensor self) -> Tensor", rounding<"Floor">),
    op("aten::ceil(Tensor self) -> Tensor", rounding<"Ceil">),
    op("aten::round(Tensor self) -> Tensor", rounding<"Round">),
    op<round_decimals>("aten::round.decimals(Tensor self, *, int decimals) -> Tensor"),
    op<pw::trunc>("aten::trunc(Tensor self) -> Tensor"),
    op<frac>("aten::frac(Tensor self) -> Tensor"),
    op<clamp_numbers>("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    op<clamp>("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    op("aten::clamp_min(Tensor self, Scalar min) -> Tensor", clamp_low),
    op("aten::clamp_max(Tensor self, Scalar max) -> Tensor", clamp_high),
    op("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
       [](Emit& g, Value x, Value low) { return clamp(g, x, low, std::nullopt); }),
    op("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
       [](Emit& g, Value x, Value high) { return clamp(g, x, std::nullopt, high); }),
    op("aten::fmax(Tensor self, Tensor other) -> Tensor", ignoring_nan<pw::maximum>),
    op("aten::fmin(Tensor self, Tensor other) -> Tensor", ignoring_nan<pw::minimum>),
    op<nan_to_num>(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) "
        "-> Tensor"),
    op<logit>("aten::logit(Tensor self, float? eps=None) -> Tensor"),
    op<xlogy>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
    op("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
       [](Emit& g, Value x, const Scalar& y) {
         return xlogy(g, x, g.scalar(y, compute_type(g.result_dtype())));
       }),
    op("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
       [](Emit& g, const Scalar& x, Value y) {
         return xlogy(g, g.scalar(x, compute_type(g.result_dtype())), y);
       }),
    op("aten::logaddexp(Tensor self, Tensor other) -> Tensor",
       [](Emit& g, Value a, Value b) { return logaddexp(g, a, b, 1); }),
    op("aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
       [](Emit& g, Value a, Value b) { return logaddexp(g, a, b, std::log(2)); }),
    op<hypot>("aten::hypot(Tensor self, Tensor other) -> Tensor"),
    op<copysign>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"),
    op("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
       [](Emit& g, Value x, const Scalar& s) {
         return copysign(g, x, g.scalar(s, g.result_dtype()));
       }),
    op<heaviside>("aten::heaviside(Tensor self, Tensor values) -> Tensor"),
};

}  // namespace

Table math_rows() { return table; }

}  // namespace oe::lower
