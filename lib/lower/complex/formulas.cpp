// Arithmetic and functions of complex numbers, as formulas of their parts.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/complex/complex.h"

namespace oe::lower {
namespace {

T sin(T x) { return unary("Sin", x); }
T cos(T x) { return unary("Cos", x); }
// Also of -0.
T negative(T x) { return (x < 0) | (reciprocal(x) < 0); }

}  // namespace

T zeros_like(T x) { return full(shape(x), number(0, x)); }

T imaginary(const C& a) { return a.im ? a.im : zeros_like(a.re); }

C operator-(const C& a) { return {-a.re, a.im ? -a.im : T()}; }
C conj(const C& a) { return -C{-a.re, a.im}; }
C times_i(const C& a) { return {a.im ? -a.im : zeros_like(a.re), a.re}; }

C operator+(const C& a, const C& b) {
  return {a.re + b.re, a.im && b.im ? a.im + b.im : a.im ? a.im : b.im};
}
C operator-(const C& a, const C& b) {
  T im = a.im && b.im ? a.im - b.im : b.im ? -b.im : a.im;
  return {a.re - b.re, im};
}

C operator*(const C& a, T b) { return {a.re * b, a.im ? a.im * b : T()}; }
C operator*(const C& a, const C& b) {
  if (!b.im) return a * b.re;
  if (!a.im) return b * a.re;
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// Scaled by the divisor's larger part, as ATen's vectorized kernel does it.
C operator/(const C& a, const C& b) {
  if (!b.im) return {a.re / b.re, a.im ? a.im / b.re : T()};
  T scale = maximum(abs(b.re), abs(b.im));
  T c = b.re / scale, d = b.im / scale;
  T square = b.re * c + b.im * d;
  if (!a.im) return {a.re * c / square, -(a.re * d) / square};
  return {(a.re * c + a.im * d) / square, (a.im * c - a.re * d) / square};
}

C where(T condition, const C& a, const C& b) {
  return {where(condition, a.re, b.re), where(condition, imaginary(a), imaginary(b))};
}

T nonzero(const C& a) { return a.im ? to_bool(a.re) | to_bool(a.im) : to_bool(a.re); }
T abs(const C& a) { return a.im ? hypot(a.re, a.im) : abs(a.re); }
T angle(const C& a) { return atan2(imaginary(a), a.re); }
C polar(T abs, T angle) { return {abs * cos(angle), abs * sin(angle)}; }

C exp(const C& a) {
  if (!a.im) return {exp(a.re), nullptr};
  // On the real line the imaginary part stays 0 where the other overflows.
  C e = polar(exp(a.re), a.im);
  return {e.re, where(to_bool(a.im), e.im, a.im)};
}

C log(const C& a) { return {log(abs(a)), angle(a)}; }

// The root in the right half-plane, without cancellation in either part.
C sqrt(const C& a) {
  T im = imaginary(a);
  T whole = sqrt((abs(a) + abs(a.re)) * 2);  // twice the larger part
  T other = where(to_bool(whole), abs(im) / whole, im);
  T right = a.re >= 0, half = whole / 2;
  T re = where(right, half, other), up = where(right, other, half);
  return {re, where(negative(im), -up, up)};
}

C square(const C& a) { return a * a; }

// Numbers that were pairs before stay them.
T packed(const C& a) {
  const auto part = [](T x, int64_t i) -> T {
    const ir::Node* made = x ? x->producer : nullptr;
    if (!made || made->op != "Gather" || made->attributes.get_or<int64_t>("axis", 0) != -1)
      return nullptr;
    const auto index = ints(made->inputs[1]);
    return index && *index == Ints{i} ? x.builder().at(made->inputs[0]) : nullptr;
  };
  if (T pairs = part(a.re, 0); pairs && pairs == part(a.im, 1)) return pairs;
  const auto column = [](T x) {
    return x.ranked() ? unsqueeze(x, {x.rank()}) : node("Unsqueeze", {x, x.builder().i64s({-1})});
  };
  const Values columns = {column(a.re), column(imaginary(a))};
  return a.re.ranked() ? concat(columns, a.re.rank())
                       : node("Concat", columns, {{"axis", int64_t{-1}}});
}

C unpacked(T pairs) {
  const auto part = [&](int64_t i) {
    T x = node("Gather", {pairs, pairs.builder().i64(i)}, {{"axis", int64_t{-1}}});
    return pairs.ranked() ? with_rank(x, pairs.rank() - 1) : x;
  };
  return {part(0), part(1)};
}

}  // namespace oe::lower
