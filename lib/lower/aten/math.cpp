// Functions of one tensor: roots, exponentials, trigonometry, rounding, limits.
#include <cmath>
#include <limits>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Op for floats; integers are whole already.
template <FixedString Op>
T whole(T x) {
  return is_float(x.dtype()) ? unary(Op.view(), x) : x;
}

T negate(T x) {
  if (unsigned_type(x.dtype())) return 0 - x;
  return -x;
}

// (0 < x) - (x < 0): 0 for NaN, as ATen computes it. ONNX's Sign gives NaN.
T sign(T x) {
  if (x.dtype() == DType::Bool) return x;
  if (!is_float(x.dtype())) return unary("Sign", x);
  T zero = number(0, x);
  return cast(x > zero, x.dtype()) - cast(x < zero, x.dtype());
}

// Of a real number: 0 or pi, NaN of NaN.
T angle(T x) {
  T direction = where(x < 0, std::numbers::pi, number(0, x));
  return where(is_nan(x), x, direction);
}

T rsqrt(T x) { return reciprocal(sqrt(x)); }
T exp2(T x) { return node("Pow", {number(2, x), x}); }
T log2(T x) { return log_base(x, 2); }
T log10(T x) { return log_base(x, 10); }
T degrees(T x) { return x * (180 / std::numbers::pi); }
T radians(T x) { return x * (std::numbers::pi / 180); }

// sin(pi x) / (pi x), and 1 at 0.
T sinc(T x) {
  T p = x * std::numbers::pi;
  return where(to_bool(x), unary("Sin", p) / p, 1);
}

T frac(T x) { return x - trunc(x); }

// Half to even at a decimal place; negative places round to tens, hundreds, ...
T round_decimals(T x, int64_t decimals) {
  const double power = std::pow(10.0, std::abs(static_cast<double>(decimals)));
  return decimals > 0 ? unary("Round", x * power) / power : unary("Round", x / power) * power;
}

// clamp with bounds given as values; the lower bound is applied first, so the upper one wins.
T clamp(T x, std::optional<T> low, std::optional<T> high) {
  if (low) x = maximum(x, *low);
  if (high) x = minimum(x, *high);
  return x;
}
T clamp_low(T x, T low) { return maximum(x, low); }
T clamp_high(T x, T high) { return minimum(x, high); }

// Two known bounds make a Clip. A NaN bound makes everything NaN, which Clip does not; one that is
// left out is the type's largest number to Clip, which cuts infinities.
T clamp_numbers(T x, std::optional<T> low, std::optional<T> high) {
  const auto from = low ? scalar(*low) : std::nullopt, to = high ? scalar(*high) : std::nullopt;
  if (from && to && *from <= *to && x.dtype() != DType::Bool) return clip(x, *low, *high);
  return clamp(x, low, high);
}

// ATen's order: NaN first, then the infinities; the defaults are 0 and the type's ends.
T nan_to_num(T x, const std::optional<double>& nan, const std::optional<double>& highest,
             const std::optional<double>& lowest) {
  const DType t = x.dtype();
  if (!is_float(t)) return x;
  const double end = largest_finite(t);
  const double inf = std::numeric_limits<double>::infinity();
  T up = equal(x, inf), down = equal(x, -inf);
  x = where(is_nan(x), nan.value_or(0), x);
  x = where(up, highest.value_or(end), x);
  return where(down, lowest.value_or(-end), x);
}

T logit(T x, const std::optional<double>& eps) {
  if (eps) x = clip(x, *eps, 1 - *eps);
  return log(x / (1 - x));
}

// x * log(y): 0 where x is 0, unless y is NaN.
T xlogy(T x, T y) {
  T safe = ~to_bool(x) & equal(y, y);
  return where(safe, 0, x * log(y));
}

// log(base^a + base^b) without overflow; equal infinities are their own result.
T logaddexp(T a, T b, double scale) {
  T high = maximum(a, b);
  T gap = -abs(a - b);
  T tail = log1p(exp(gap * scale));
  T sum = high + tail / scale;
  return where(equal(a, b), a + std::log(2) / scale, sum);
}

T copysign(T x, T sign) {
  x = abs(x);
  T negative = (sign < 0) | (reciprocal(sign) < 0);
  return where(negative, -x, x);
}

T heaviside(T x, T at_zero) { return where(to_bool(x), cast(x > 0, x.dtype()), at_zero); }

// NaN loses against a number here, unlike in maximum.
template <T (*F)(T, T)>
T ignoring_nan(T x, T y) {
  T extreme = F(x, y);
  if (!is_float(x.dtype())) return extreme;
  T right = where(is_nan(y), x, extreme);
  return where(is_nan(x), y, right);
}

constexpr Lowering table[] = {
    op<negate>(names("aten::neg", "aten::_neg_view"), "(Tensor self) -> Tensor"),
    op("aten::abs(Tensor self) -> Tensor", same<"Abs">),
    op("prim::abs(Tensor x) -> Tensor", same<"Abs">),
    op<sign>(names("aten::sign", "aten::sgn"), "(Tensor self) -> Tensor"),
    typed<angle>("aten::angle(Tensor self) -> Tensor"),
    op("aten::reciprocal(Tensor self) -> Tensor", same<"Reciprocal">),
    op("aten::sqrt(Tensor self) -> Tensor", same<"Sqrt">),
    wide<rsqrt>("aten::rsqrt(Tensor self) -> Tensor"),
    typed("aten::square(Tensor self) -> Tensor", [](T x) { return x * x; }),
    op("aten::exp(Tensor self) -> Tensor", same<"Exp">),
    wide<exp2>("aten::exp2(Tensor self) -> Tensor"),
    wide<expm1>("aten::expm1(Tensor self) -> Tensor"),
    op("aten::log(Tensor self) -> Tensor", same<"Log">),
    wide<log2>("aten::log2(Tensor self) -> Tensor"),
    wide<log10>("aten::log10(Tensor self) -> Tensor"),
    wide<log1p>("aten::log1p(Tensor self) -> Tensor"),
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
    wide<sinc>("aten::sinc(Tensor self) -> Tensor"),
    wide<radians>("aten::deg2rad(Tensor self) -> Tensor"),
    wide<degrees>("aten::rad2deg(Tensor self) -> Tensor"),
    op<whole<"Floor">>("aten::floor(Tensor self) -> Tensor"),
    op<whole<"Ceil">>("aten::ceil(Tensor self) -> Tensor"),
    op<whole<"Round">>("aten::round(Tensor self) -> Tensor"),
    wide<round_decimals>("aten::round.decimals(Tensor self, *, int decimals) -> Tensor"),
    op<trunc>("aten::trunc(Tensor self) -> Tensor"),
    op<frac>("aten::frac(Tensor self) -> Tensor"),
    typed<clamp_numbers>("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    typed<clamp>("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    typed<clamp_low>("aten::clamp_min(Tensor self, Scalar min) -> Tensor"),
    typed<clamp_low>("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor"),
    typed<clamp_high>("aten::clamp_max(Tensor self, Scalar max) -> Tensor"),
    typed<clamp_high>("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor"),
    typed<ignoring_nan<maximum>>("aten::fmax(Tensor self, Tensor other) -> Tensor"),
    typed<ignoring_nan<minimum>>("aten::fmin(Tensor self, Tensor other) -> Tensor"),
    op<nan_to_num>(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"),
    wide<logit>("aten::logit(Tensor self, float? eps=None) -> Tensor"),
    wide<xlogy>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
    wide<xlogy>("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor"),
    wide<xlogy>("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor"),
    wide("aten::logaddexp(Tensor self, Tensor other) -> Tensor",
         [](T a, T b) { return logaddexp(a, b, 1); }),
    wide("aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
         [](T a, T b) { return logaddexp(a, b, std::log(2)); }),
    wide<hypot>("aten::hypot(Tensor self, Tensor other) -> Tensor"),
    typed<copysign>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"),
    typed<copysign>("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor"),
    typed<heaviside>("aten::heaviside(Tensor self, Tensor values) -> Tensor"),
};

}  // namespace

Table math_rows() { return table; }

}  // namespace oe::lower
