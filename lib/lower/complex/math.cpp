// Arithmetic, comparisons and functions of complex tensors.
#include <cmath>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/complex/complex.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

T sin(T x) { return unary("Sin", x); }
T cos(T x) { return unary("Cos", x); }
// Exact near 0, where e^x - e^-x cancels; ONNX has both for floats.
T sinh(T x) { return unary("Sinh", x); }
T cosh(T x) { return unary("Cosh", x); }

C reciprocal(const C& a) { return C{number(1, a.re), nullptr} / a; }
C plus(const C& a, double b) { return {a.re + b, a.im}; }
C times(const C& a, double b) { return {a.re * b, a.im ? a.im * b : T()}; }

C sgn(const C& a) {
  T length = abs(a);
  T safe = where(to_bool(length), length, 1);
  return {a.re / safe, imaginary(a) / safe};
}

C sin(const C& a) {
  T im = imaginary(a);
  return {sin(a.re) * cosh(im), cos(a.re) * sinh(im)};
}
C cos(const C& a) {
  T im = imaginary(a);
  return {cos(a.re) * cosh(im), -(sin(a.re) * sinh(im))};
}
C sinh(const C& a) {
  T im = imaginary(a);
  return {sinh(a.re) * cos(im), cosh(a.re) * sin(im)};
}
C cosh(const C& a) {
  T im = imaginary(a);
  return {cosh(a.re) * cos(im), sinh(a.re) * sin(im)};
}
// Both parts divided by cosh^2, so that nothing overflows: with t = tanh(re) and u = tan(im) it is
// (t + iu) / (1 + itu).
C tanh(const C& a) {
  T t = tanh(a.re), u = unary("Tan", imaginary(a));
  return C{t, u} / C{number(1, t), t * u};
}
C tan(const C& a) {
  const C z = tanh(times_i(a));
  return {z.im, -z.re};
}
C sigmoid(const C& a) { return reciprocal(plus(exp(-a), 1)); }

C log_base(const C& a, double base) { return times(log(a), 1 / std::log(base)); }
C exp2(const C& a) { return exp(times(a, std::numbers::ln2)); }
C rsqrt(const C& a) { return reciprocal(sqrt(a)); }

// log(z + sqrt(z^2 + 1)), and its kin. In float64, which hides the cancellation of floats.
C asinh(const C& a) { return log(a + sqrt(plus(square(a), 1))); }
C acosh(const C& a) { return log(a + sqrt(plus(a, 1)) * sqrt(plus(a, -1))); }
C atanh(const C& a) { return times(log(plus(a, 1)) - log(plus(-a, 1)), 0.5); }
C asin(const C& a) {
  const C z = asinh(times_i(a));
  return {z.im, -z.re};
}
C atan(const C& a) {
  const C z = atanh(times_i(a));
  return {z.im, -z.re};
}
C acos(const C& a) {
  const C z = asin(a);
  return {std::numbers::pi / 2 - z.re, -z.im};
}
template <C (*F)(const C&)>
C in_double(const C& a) {
  const DType t = a.re.dtype();
  const C z = F({cast(a.re, DType::Double), cast(imaginary(a), DType::Double)});
  return {cast(z.re, t), cast(z.im, t)};
}

// e^(b log a), 0 to any power with a positive real part being 0, and z^0 = 1.
C power(const C& a, const C& b) {
  const C general = exp(b * log(a));
  const T zero = ~nonzero(a), one = ~nonzero(b);
  const T grows = zero & (b.re > 0);
  const T re = where(one, 1, where(grows, 0, general.re));
  return {re, where(one | grows, 0, imaginary(general))};
}

C whole_power(const C& a, int64_t exponent) {
  if (exponent == 1) return a;
  const C half = whole_power(a, exponent / 2), all = square(half);
  return exponent % 2 == 0 ? all : all * a;
}

// Exact near 0: e^re - 1 and 2 sin^2(im / 2), which is 1 - cos(im), both lose nothing.
C expm1(const C& a) {
  T half = sin(a.im / 2), grown = lower::expm1(a.re);
  return {grown * cos(a.im) - half * half * 2, (grown + 1) * sin(a.im)};
}
// log|1 + z| is half the logarithm of 1 + (2 re + |z|^2).
C log1p(const C& a) {
  T more = a.re * (a.re + 2) + a.im * a.im;
  T near = lower::log1p(more) / 2, far = log(abs(plus(a, 1)));
  return {where(abs(more) < 0.5, near, far), atan2(a.im, a.re + 1)};
}

C silu(const C& a) { return a * sigmoid(a); }

C sinc(const C& a) {
  const C p = times(a, std::numbers::pi), one = {number(1, a.re), nullptr};
  const T zero = ~nonzero(a);
  const C safe = where(zero, one, p);
  return where(zero, one, sin(p) / safe);
}

// log(e^a + e^b), by the larger one; equal infinities are their own result.
C logaddexp(const C& a, const C& b) {
  const T first = a.re >= b.re;
  const C high = where(first, a, b), low = where(first, b, a);
  const C sum = high + log1p(exp(low - high));
  const T same = unary("IsInf", a.re) & equal(a.re, b.re) & equal(imaginary(a), imaginary(b));
  return where(same, a, sum);
}

// ATen's own short cuts for known exponents.
C power_scalar(Call& g, const C& a, const Scalar& b) {
  if (b.known && b.d == 0) return {full(shape(a.re), number(1, a.re)), nullptr};
  if (b.known && b.d == 0.5) return sqrt(a);
  if (b.known && b.d == -0.5) return rsqrt(a);
  if (b.known && b.d == std::round(b.d) && std::fabs(b.d) <= 3) {
    const C z = whole_power(a, static_cast<int64_t>(std::fabs(b.d)));
    return b.d < 0 ? reciprocal(z) : z;
  }
  return power(a, {g.scalar(b, a.re.dtype()), nullptr});
}

C add(const C& a, const C& b, const C& alpha) { return a + b * alpha; }
C sub(const C& a, const C& b, const C& alpha) { return a - b * alpha; }
C rsub(const C& a, const C& b, const C& alpha) { return b - a * alpha; }
C mul(const C& a, const C& b) { return a * b; }
C div(const C& a, const C& b) { return a / b; }
T equals(const C& a, const C& b) { return equal(a.re, b.re) & equal(imaginary(a), imaginary(b)); }
T differs(const C& a, const C& b) { return ~equals(a, b); }
T finite(T x) { return ~(unary("IsInf", x) | is_nan(x)); }

// at::isclose: equal, or nearer than the second operand's length allows.
T is_close(const C& a, const C& b, double rtol, double atol, bool equal_nan) {
  T near = abs(a - b), allowed = abs(b) * rtol + atol;
  T close = equals(a, b) | (finite(near) & (near <= allowed));
  if (!equal_nan) return close;
  return close | ((is_nan(a.re) | is_nan(imaginary(a))) & (is_nan(b.re) | is_nan(imaginary(b))));
}

C lerp(const C& a, const C& b, const C& weight) {
  const C way = b - a, rest = C{number(1, a.re), nullptr} - weight;
  return where(abs(weight) < 0.5, a + way * weight, b - way * rest);
}

template <C (*F)(const C&)>
inline constexpr auto of = [](C a) {
  return F({a.re, imaginary(a)});
};

constexpr Lowering table[] = {
    // --- between real and complex
    op("aten::complex(Tensor real, Tensor imag) -> Tensor",
       [](T re, T im) {
         const Values both = broadcast({re, im});
         return C{both[0], both[1]};
       }),
    op("aten::polar(Tensor abs, Tensor angle) -> Tensor",
       [](T abs, T angle) { return polar(abs, angle); }),
    op("aten::view_as_complex(Tensor self) -> Tensor", [](T x) { return unpacked(x); }),
    op("aten::view_as_real(Tensor self) -> Tensor", [](C a) { return packed(a); }),
    op("aten::abs(Tensor self) -> Tensor", [](C a) { return abs(a); }),
    op("aten::angle(Tensor self) -> Tensor", [](C a) { return angle(a); }),
    op(names("aten::conj", "aten::_conj", "aten::conj_physical"), "(Tensor self) -> Tensor",
       [](C a) {
         return conj({a.re, imaginary(a)});
       }),
    op(names("aten::resolve_conj", "aten::resolve_neg"), "(Tensor self) -> Tensor",
       [](C a) {
         return C{a.re, imaginary(a)};
       }),

    // --- arithmetic
    op(names("aten::add.Tensor"), "(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
       [](C a, C b, C alpha) { return add(a, b, alpha); }),
    op("aten::add.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       [](C a, C b, C alpha) { return add(a, b, alpha); }),
    op("aten::sub.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor",
       [](C a, C b, C alpha) { return sub(a, b, alpha); }),
    op("aten::sub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       [](C a, C b, C alpha) { return sub(a, b, alpha); }),
    op("aten::rsub.Scalar(Tensor self, Scalar other, Scalar alpha=1) -> Tensor",
       [](C a, C b, C alpha) { return rsub(a, b, alpha); }),
    op("aten::mul.Tensor(Tensor self, Tensor other) -> Tensor", [](C a, C b) { return mul(a, b); }),
    op("aten::mul.Scalar(Tensor self, Scalar other) -> Tensor", [](C a, C b) { return mul(a, b); }),
    op("aten::div.Tensor(Tensor self, Tensor other) -> Tensor", [](C a, C b) { return div(a, b); }),
    op("aten::div.Scalar(Tensor self, Scalar other) -> Tensor", [](C a, C b) { return div(a, b); }),
    op("aten::addcmul(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       [](C a, C x, C y, C value) { return a + x * y * value; }),
    op("aten::addcdiv(Tensor self, Tensor tensor1, Tensor tensor2, *, Scalar value=1) -> Tensor",
       [](C a, C x, C y, C value) { return a + x / y * value; }),
    op("aten::reciprocal(Tensor self) -> Tensor", of<reciprocal>),
    op("aten::square(Tensor self) -> Tensor", of<square>),
    op("aten::sgn(Tensor self) -> Tensor", of<sgn>),
    op(names("aten::pow.Tensor_Tensor", "aten::float_power.Tensor_Tensor"),
       "(Tensor self, Tensor exponent) -> Tensor",
       [](C a, C b) {
         return power({a.re, imaginary(a)}, b);
       }),
    op(names("aten::pow.Tensor_Scalar", "aten::float_power.Tensor_Scalar"),
       "(Tensor self, Scalar exponent) -> Tensor",
       [](Call& g, C a, Scalar b) { return power_scalar(g, a, b); }),
    op(names("aten::pow.Scalar", "aten::float_power.Scalar"),
       "(Scalar self, Tensor exponent) -> Tensor",
       [](C a, C b) {
         return power({a.re, imaginary(a)}, b);
       }),

    // --- comparisons
    op("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return equals(a, b); }),
    op("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor",
       [](C a, C b) { return equals(a, b); }),
    op("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return differs(a, b); }),
    op("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor",
       [](C a, C b) { return differs(a, b); }),
    op("aten::logical_not(Tensor self) -> Tensor", [](C a) { return ~nonzero(a); }),
    op("aten::logical_and(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return nonzero(a) & nonzero(b); }),
    op("aten::logical_or(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return nonzero(a) | nonzero(b); }),
    op("aten::logical_xor(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) { return nonzero(a) ^ nonzero(b); }),
    op("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
       [](C a, C b, double rtol, double atol, bool equal_nan) {
         return is_close(a, b, rtol, atol, equal_nan);
       }),
    op("aten::isnan(Tensor self) -> Tensor",
       [](C a) { return is_nan(a.re) | is_nan(imaginary(a)); }),
    op("aten::isinf(Tensor self) -> Tensor",
       [](C a) { return unary("IsInf", a.re) | unary("IsInf", imaginary(a)); }),
    op("aten::isfinite(Tensor self) -> Tensor",
       [](C a) { return finite(a.re) & finite(imaginary(a)); }),
    op("aten::isreal(Tensor self) -> Tensor", [](C a) { return ~to_bool(imaginary(a)); }),

    // --- functions
    op("aten::exp(Tensor self) -> Tensor", of<exp>),
    op("aten::exp2(Tensor self) -> Tensor", of<exp2>),
    op("aten::log(Tensor self) -> Tensor", of<log>),
    op("aten::log2(Tensor self) -> Tensor", [](C a) { return log_base(a, 2); }),
    op("aten::log10(Tensor self) -> Tensor", [](C a) { return log_base(a, 10); }),
    op("aten::sqrt(Tensor self) -> Tensor", of<sqrt>),
    op("aten::rsqrt(Tensor self) -> Tensor", of<rsqrt>),
    op("aten::sin(Tensor self) -> Tensor", of<sin>),
    op("aten::cos(Tensor self) -> Tensor", of<cos>),
    op("aten::tan(Tensor self) -> Tensor", of<tan>),
    op("aten::sinh(Tensor self) -> Tensor", of<sinh>),
    op("aten::cosh(Tensor self) -> Tensor", of<cosh>),
    op("aten::tanh(Tensor self) -> Tensor", of<tanh>),
    op("aten::sigmoid(Tensor self) -> Tensor", of<sigmoid>),
    op("aten::silu(Tensor self) -> Tensor", of<silu>),
    op("aten::sinc(Tensor self) -> Tensor", of<sinc>),
    op("aten::expm1(Tensor self) -> Tensor", of<expm1>),
    op("aten::log1p(Tensor self) -> Tensor", of<log1p>),
    op("aten::logaddexp(Tensor self, Tensor other) -> Tensor",
       [](C a, C b) {
         return logaddexp({a.re, imaginary(a)}, {b.re, imaginary(b)});
       }),
    op("aten::lerp.Tensor(Tensor self, Tensor end, Tensor weight) -> Tensor",
       [](C a, C b, C weight) { return lerp(a, b, weight); }),
    op("aten::lerp.Scalar(Tensor self, Tensor end, Scalar weight) -> Tensor",
       [](C a, C b, C weight) { return lerp(a, b, weight); }),
    op("aten::asin(Tensor self) -> Tensor", of<in_double<asin>>),
    op("aten::acos(Tensor self) -> Tensor", of<in_double<acos>>),
    op("aten::atan(Tensor self) -> Tensor", of<in_double<atan>>),
    op("aten::asinh(Tensor self) -> Tensor", of<in_double<asinh>>),
    op("aten::acosh(Tensor self) -> Tensor", of<in_double<acosh>>),
    op("aten::atanh(Tensor self) -> Tensor", of<in_double<atanh>>),
};

}  // namespace

Table complex_math_rows() { return table; }

}  // namespace oe::lower
