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
constexpr auto rounding = [](T x) { return is_float(x.dtype()) ? node(Op.view(), {x}) : x; };

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

T square(Call& g, T x) {
  x = cast(x, g.result_dtype());
  return x * x;
}

T rsqrt(T x) { return reciprocal(sqrt(x)); }
T exp2(T x) { return node("Pow", {number(2, x), x}); }
T log2(T x) { return log_base(x, 2); }
T log10(T x) { return log_base(x, 10); }
T erfc(T x) { return 1 - erf(x); }
T degrees(T x) { return x * (180 / std::numbers::pi); }
T radians(T x) { return x * (std::numbers::pi / 180); }

// sin(pi x) / (pi x), and 1 at 0.
T sinc(T x) {
  T p = x * std::numbers::pi;
  return where(to_bool(x), unary("Sin", p) / p, 1);
}

T frac(T x) { return x - trunc(x); }

// Half to even at a decimal place; negative places round to tens, hundreds, ...
T round_decimals(Call& g, T x, int64_t decimals) {
  if (decimals == 0) return unary("Round", x);
  return computed(g, x, [&](T v) {
    T power = number(std::pow(10.0, std::abs(static_cast<double>(decimals))), v);
    return decimals > 0 ? unary("Round", v * power) / power : unary("Round", v / power) * power;
  });
}

// clamp with bounds given as values; the lower bound is applied first, so the upper one wins.
T clamp(Call& g, T x, std::optional<T> low, std::optional<T> high) {
  const DType t = g.result_dtype();
  x = cast(x, t);
  if (low) x = maximum(x, cast(*low, t));
  if (high) x = minimum(x, cast(*high, t));
  return x;
}

// Known bounds make a Clip. A NaN bound makes everything NaN, which Clip does not.
T clamp_numbers(Call& g, T x, const std::optional<Scalar>& low, const std::optional<Scalar>& high) {
  const DType t = g.result_dtype();
  const auto plain = [](const std::optional<Scalar>& s) {
    return !s || (s->known && !std::isnan(s->d));
  };
  const T none;
  T a = low ? g.scalar(*low, t) : none, b = high ? g.scalar(*high, t) : none;
  const bool reversed = low && high && low->known && high->known && low->d > high->d;
  // A bound that is left out is the type's largest number to Clip, which cuts infinities.
  if (a && b && plain(low) && plain(high) && !reversed && t != DType::Bool)
    return node("Clip", {cast(x, t), a, b});
  return clamp(g, x, a ? std::optional(a) : std::nullopt, b ? std::optional(b) : std::nullopt);
}

constexpr auto clamp_low = [](Call& g, T x, const Scalar& low) {
  return clamp_numbers(g, x, low, std::nullopt);
};
constexpr auto clamp_high = [](Call& g, T x, const Scalar& high) {
  return clamp_numbers(g, x, std::nullopt, high);
};

// ATen's order: NaN first, then the infinities; the defaults are 0 and the type's ends.
T nan_to_num(T x, const std::optional<double>& nan, const std::optional<double>& highest,
             const std::optional<double>& lowest) {
  const DType t = x.dtype();
  if (!is_float(t)) return x;
  const double end = t == DType::Double     ? std::numeric_limits<double>::max()
                     : t == DType::Float16  ? 65504.0
                     : t == DType::BFloat16 ? std::ldexp(255.0, 120)
                                            : std::numeric_limits<float>::max();
  const double inf = std::numeric_limits<double>::infinity();
  T up = equal(x, inf), down = equal(x, -inf);
  x = where(is_nan(x), nan.value_or(0), x);
  x = where(up, highest.value_or(end), x);
  return where(down, lowest.value_or(-end), x);
}

T logit(T x, const std::optional<double>& eps) {
  if (eps) x = node("Clip", {x, number(*eps, x), number(1 - *eps, x)});
  return log(x / (1 - x));
}

// x * log(y): 0 where x is 0, unless y is NaN.
T xlogy(Call& g, T x, T y) {
  const DType c = compute_type(g.result_dtype());
  x = cast(x, c), y = cast(y, c);
  T safe = ~to_bool(x) & equal(y, y);
  return where(safe, 0, x * log(y));
}

// log(base^a + base^b) without overflow; equal infinities are their own result.
T logaddexp(Call& g, T a, T b, double scale) {
  const DType c = compute_type(g.result_dtype());
  a = cast(a, c), b = cast(b, c);
  T high = maximum(a, b);
  T gap = -abs(a - b);
  T tail = log1p(exp(gap * scale));
  T sum = high + tail / scale;
  return where(equal(a, b), a + std::log(2) / scale, sum);
}

T hypot(Call& g, T a, T b) {
  const DType c = compute_type(g.result_dtype());
  a = abs(cast(a, c)), b = abs(cast(b, c));
  T high = maximum(a, b), low = minimum(a, b);
  T ratio = low / high;
  T length = sqrt(1 + ratio * ratio);
  // 0 / 0 and inf / inf: the larger side is the length.
  T flat = ~to_bool(high) | equal(high, INFINITY);
  return where(flat, high, high * length);
}

T copysign(Call& g, T x, T sign) {
  const DType t = g.result_dtype();
  x = abs(cast(x, t)), sign = cast(sign, t);
  T zero = number(0, sign);
  T negative = (sign < zero) | (reciprocal(sign) < zero);
  return where(negative, -x, x);
}

T heaviside(T x, T at_zero) {
  const DType t = x.dtype();
  T step = cast(number(0, x) < x, t);
  return where(to_bool(x), step, cast(at_zero, t));
}

// NaN loses against a number here, unlike in maximum.
template <T (*F)(T, T)>
constexpr auto ignoring_nan = [](Call& g, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  T extreme = F(x, y);
  if (!is_float(x.dtype())) return extreme;
  T right = where(is_nan(y), x, extreme);
  return where(is_nan(x), y, right);
};

constexpr Lowering table[] = {
    op<negate>("aten::neg(Tensor self) -> Tensor"),
    op("aten::abs(Tensor self) -> Tensor", same<"Abs">),
    op("prim::abs(Tensor x) -> Tensor", same<"Abs">),
    op<sign>(names("aten::sign", "aten::sgn"), "(Tensor self) -> Tensor"),
    op("aten::reciprocal(Tensor self) -> Tensor", same<"Reciprocal">),
    op("aten::sqrt(Tensor self) -> Tensor", same<"Sqrt">),
    wide<rsqrt>("aten::rsqrt(Tensor self) -> Tensor"),
    op<square>("aten::square(Tensor self) -> Tensor"),
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
    wide<erfc>("aten::erfc(Tensor self) -> Tensor"),
    wide<sinc>("aten::sinc(Tensor self) -> Tensor"),
    wide<radians>("aten::deg2rad(Tensor self) -> Tensor"),
    wide<degrees>("aten::rad2deg(Tensor self) -> Tensor"),
    op("aten::floor(Tensor self) -> Tensor", rounding<"Floor">),
    op("aten::ceil(Tensor self) -> Tensor", rounding<"Ceil">),
    op("aten::round(Tensor self) -> Tensor", rounding<"Round">),
    op<round_decimals>("aten::round.decimals(Tensor self, *, int decimals) -> Tensor"),
    op<trunc>("aten::trunc(Tensor self) -> Tensor"),
    op<frac>("aten::frac(Tensor self) -> Tensor"),
    op<clamp_numbers>("aten::clamp(Tensor self, Scalar? min=None, Scalar? max=None) -> Tensor"),
    op<clamp>("aten::clamp.Tensor(Tensor self, Tensor? min=None, Tensor? max=None) -> Tensor"),
    op("aten::clamp_min(Tensor self, Scalar min) -> Tensor", clamp_low),
    op("aten::clamp_max(Tensor self, Scalar max) -> Tensor", clamp_high),
    op("aten::clamp_min.Tensor(Tensor self, Tensor min) -> Tensor",
       [](Call& g, T x, T low) { return clamp(g, x, low, std::nullopt); }),
    op("aten::clamp_max.Tensor(Tensor self, Tensor max) -> Tensor",
       [](Call& g, T x, T high) { return clamp(g, x, std::nullopt, high); }),
    op("aten::fmax(Tensor self, Tensor other) -> Tensor", ignoring_nan<maximum>),
    op("aten::fmin(Tensor self, Tensor other) -> Tensor", ignoring_nan<minimum>),
    op<nan_to_num>(
        "aten::nan_to_num(Tensor self, float? nan=None, float? posinf=None, float? neginf=None) -> Tensor"),
    wide<logit>("aten::logit(Tensor self, float? eps=None) -> Tensor"),
    op<xlogy>("aten::xlogy.Tensor(Tensor self, Tensor other) -> Tensor"),
    op("aten::xlogy.Scalar_Other(Tensor self, Scalar other) -> Tensor",
       [](Call& g, T x, const Scalar& y) {
         return xlogy(g, x, g.scalar(y, compute_type(g.result_dtype())));
       }),
    op("aten::xlogy.Scalar_Self(Scalar self, Tensor other) -> Tensor",
       [](Call& g, const Scalar& x, T y) {
         return xlogy(g, g.scalar(x, compute_type(g.result_dtype())), y);
       }),
    op("aten::logaddexp(Tensor self, Tensor other) -> Tensor",
       [](Call& g, T a, T b) { return logaddexp(g, a, b, 1); }),
    op("aten::logaddexp2(Tensor self, Tensor other) -> Tensor",
       [](Call& g, T a, T b) { return logaddexp(g, a, b, std::log(2)); }),
    op<hypot>("aten::hypot(Tensor self, Tensor other) -> Tensor"),
    op<copysign>("aten::copysign.Tensor(Tensor self, Tensor other) -> Tensor"),
    op("aten::copysign.Scalar(Tensor self, Scalar other) -> Tensor",
       [](Call& g, T x, const Scalar& s) { return copysign(g, x, g.scalar(s, g.result_dtype())); }),
    op<heaviside>("aten::heaviside(Tensor self, Tensor values) -> Tensor"),
};

}  // namespace

Table math_rows() { return table; }

}  // namespace oe::lower
