// Pointwise formulas that ONNX has no operator for.
#include "lib/lower/aten/pointwise.h"

#include <cmath>
#include <numbers>

namespace oe::lower::pw {
namespace {

Value squared(Emit& g, Value x) { return mul(g, x, x); }

}  // namespace

Value trunc(Emit& g, Value x) {
  if (!is_float(g.dtype(x))) return x;
  return where(g, less(g, x, num(g, 0, x)), g.node("Ceil", {x}), g.node("Floor", {x}));
}

Value trunc_div(Emit& g, Value a, Value b) {
  Value q = div(g, a, b);  // of integers: towards zero in ONNX too
  return trunc(g, q);
}

Value fmod(Emit& g, Value a, Value b) {
  if (is_float(g.dtype(a))) return g.node("Mod", {a, b}, {{"fmod", int64_t{1}}});
  return sub(g, a, mul(g, div(g, a, b), b));
}

Value remainder(Emit& g, Value a, Value b) {
  if (!is_float(g.dtype(a))) return g.node("Mod", {a, b});
  Value zero = num(g, 0, a);
  Value m = fmod(g, a, b);
  Value other_sign = differ(g, less(g, b, zero), less(g, m, zero));
  return where(g, both(g, to_bool(g, m), other_sign), add(g, m, b), m);
}

Value floor_div(Emit& g, Value a, Value b) {
  if (unsigned_type(g.dtype(a))) return div(g, a, b);
  if (byte_size(g.dtype(a)) < 4) {  // a - a mod b may leave a small type
    const DType t = g.dtype(a);
    return g.cast(floor_div(g, g.cast(a, DType::Int32), g.cast(b, DType::Int32)), t);
  }
  if (!is_float(g.dtype(a))) return div(g, sub(g, a, g.node("Mod", {a, b})), b);
  Value zero = num(g, 0, a), one = num(g, 1, a);
  Value m = fmod(g, a, b);
  Value q = div(g, sub(g, a, m), b);
  Value other_sign = differ(g, less(g, b, zero), less(g, m, zero));
  q = where(g, both(g, to_bool(g, m), other_sign), sub(g, q, one), q);
  Value f = g.node("Floor", {q});
  f = where(g, greater(g, sub(g, q, f), num(g, 0.5, a)), add(g, f, one), f);
  return where(g, to_bool(g, b), f, div(g, a, b));
}

Value power(Emit& g, Value a, int64_t exponent) {
  Value result = nullptr;
  for (Value base = a; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result ? mul(g, result, base) : base;
    if (exponent > 1) base = squared(g, base);
  }
  return result ? result : g.node("Expand", {num(g, 1, a), g.node("Shape", {a})});
}

Value power(Emit& g, Value a, Value b) {
  if (is_float(g.dtype(a))) return g.node("Pow", {a, b});
  // Pow goes through floats. Seven squarings are exact up to |a|^127, where every even base has
  // wrapped to 0 already; the parity of larger exponents keeps the sign of -1.
  const auto parity = [&](Value v) { return g.node("Mod", {v, num(g, 2, v)}); };
  Value one = num(g, 1, a), zero = num(g, 0, a);
  Value e = where(g, greater(g, b, num(g, 127, b)), add(g, num(g, 64, b), parity(b)), b);
  Value result = one, base = a;
  for (int bit = 0; bit < 7; ++bit) {
    Value set = to_bool(g, parity(e));
    result = mul(g, result, where(g, set, base, one));
    e = div(g, e, num(g, 2, e));
    if (bit < 6) base = squared(g, base);
  }
  if (unsigned_type(g.dtype(a))) return result;
  // 1 / a^|b| rounded towards zero: 1 for 1, the sign's parity for -1, 0 for everything else.
  Value minus = num(g, -1, a);
  Value inverse =
      where(g, equal(g, a, one), one,
            where(g, equal(g, a, minus), sub(g, one, mul(g, num(g, 2, a), parity(b))), zero));
  return where(g, less(g, b, num(g, 0, b)), inverse, result);
}

Value powers_of_two(Emit& g) {
  Ints powers;
  for (int bit = 0; bit < 64; ++bit) powers.push_back(static_cast<int64_t>(uint64_t{1} << bit));
  return g.tensor(Tensor::of<int64_t>(DType::Int64, {64}, powers), "powers_of_two");
}

Value maximum(Emit& g, Value a, Value b) {
  return g.node(g.dtype(a) == DType::Bool ? "Or" : "Max", {a, b});
}
Value minimum(Emit& g, Value a, Value b) {
  return g.node(g.dtype(a) == DType::Bool ? "And" : "Min", {a, b});
}

Value atan2(Emit& g, Value y, Value x) {
  Value zero = num(g, 0, x), one = num(g, 1, x);
  // 1 / -0 is below zero; 1 / -inf is not, hence both tests.
  const auto negative = [&](Value v) {
    return either(g, less(g, v, zero), less(g, g.node("Reciprocal", {v}), zero));
  };
  Value ax = abs(g, x), ay = abs(g, y);
  // Equal sizes, infinities among them, make 1; two zeros make 0.
  Value quotient = where(g, equal(g, ax, ay), where(g, to_bool(g, ax), one, zero), div(g, ay, ax));
  Value angle = g.node("Atan", {quotient});
  angle = where(g, negative(x), sub(g, num(g, std::numbers::pi, x), angle), angle);
  return where(g, negative(y), neg(g, angle), angle);
}

// exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), which loses nothing near 0.
Value expm1(Emit& g, Value x) {
  Value half = g.node("Tanh", {mul(g, x, num(g, 0.5, x))});
  return mul(g, half, add(g, g.node("Exp", {x}), num(g, 1, x)));
}

// W. Kahan's correction: log(u) * x / (u - 1) with u = 1 + x; x itself where u is 1.
Value log1p(Emit& g, Value x) {
  Value one = num(g, 1, x);
  Value u = add(g, x, one), d = sub(g, u, one), log = g.node("Log", {u});
  Value corrected = mul(g, log, div(g, x, d));
  corrected = where(g, less(g, x, one), corrected, log);
  return where(g, to_bool(g, d), corrected, x);
}

// log(8) / log(2) is below 3 in float32, which a floor after it shows; float64 rounds to 3.
Value log_base(Emit& g, Value x, double base) {
  const DType t = g.dtype(x);
  Value wide = g.cast(x, DType::Double);
  return g.cast(div(g, g.node("Log", {wide}), g.number(std::log(base), DType::Double)), t);
}

}  // namespace oe::lower::pw
