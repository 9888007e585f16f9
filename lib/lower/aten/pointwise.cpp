// Pointwise formulas that ONNX has no operator for.
#include "lib/lower/aten/pointwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace oe::lower {
namespace {

T squared(T x) { return x * x; }

// Sizes, constants that are not negative, and what is computed from them. The constants are small,
// so that nothing wraps.
bool not_negative(const ir::Value* v, int depth = 6) {
  if (v->data && !is_float(v->data->dtype())) {
    const std::vector<int64_t> values = v->data->as_int64();
    return std::all_of(values.begin(), values.end(),
                       [](int64_t i) { return i >= 0 && i <= (1 << 20); });
  }
  const ir::Node* n = v->producer;
  if (!n || depth == 0) return false;
  if (n->op == "Shape" || n->op == "Size") return true;
  if (n->op == "Gather") return not_negative(n->input(0), depth - 1);
  if (n->op != "Add" && n->op != "Mul" && n->op != "Div" && n->op != "Mod" && n->op != "Min")
    return false;
  return std::all_of(n->inputs.begin(), n->inputs.end(),
                     [&](const ir::Value* in) { return not_negative(in, depth - 1); });
}

// a ** e for e >= 0 of any size, by squaring as often as the largest exponent has digits. A loop:
// the digits are known only when the model runs.
T power_by_digits(T a, T e) {
  // What the loop carries has the result's shape from the first step on.
  T base = where(equal(e, e), a, a), exponent = where(equal(a, a), e, e);
  T start = where(equal(base, base), number(1, a), number(1, a));
  const auto step = [](T, const Values& state) {
    T odd = to_bool(node("Mod", {state[2], number(2, state[2])}));
    T product = where(odd, state[0] * state[1], state[0]);
    return Values{product, squared(state[1]), state[2] / 2};
  };
  const auto digits_left = [](const Values& state) {
    return reduce("ReduceSum", cast(state[2] > 0, DType::Int64), {}, false) > 0;
  };
  T out = a.builder().loop(nullptr, {start, base, exponent}, step, digits_left)[0];
  return base.ranked() ? with_dims(out, *base->type.shape) : out;
}

}  // namespace

T trunc(T x) {
  if (!is_float(x.dtype())) return x;
  return where(x < 0, ceil(x), floor(x));
}

T trunc_div(T a, T b) {
  T q = a / b;  // of integers: towards zero in ONNX too
  return trunc(q);
}

// ONNX Runtime's FuseReluClip fails to load a Clip of float64 that follows a Relu.
T clip(T x, T low, T high) {
  if (x.dtype() == DType::Double) return minimum(maximum(x, low), high);
  return node("Clip", {x, low, high});
}
T clip(T x, double low, double high) {
  const T from = number(low, x);  // in this order in the graph
  return clip(x, from, number(high, x));
}

T fmod(T a, T b) {
  if (is_float(a.dtype())) return node("Mod", {a, b}, {{"fmod", int64_t{1}}});
  return a - a / b * b;
}

T remainder(T a, T b) { return node("Mod", {a, b}); }

T floor_div(T a, T b) {
  if (!is_float(a.dtype())) {
    if (unsigned_type(a.dtype()) || (not_negative(a) && not_negative(b))) return a / b;
    // a / b is cut towards zero; one less where that lost something and the signs differ. Nothing
    // here leaves the type: |q * b| <= |a|.
    T q = a / b, m = node("Mod", {a, b});
    T whole = equal(a - q * b, m);
    return where(whole, q, q - 1);
  }
  T zero = number(0, a), one = number(1, a);
  T m = fmod(a, b);
  T q = (a - m) / b;
  T other_sign = (b < zero) ^ (m < zero);
  q = where(to_bool(m) & other_sign, q - one, q);
  T f = floor(q);
  f = where(q - f > 0.5, f + one, f);
  return where(to_bool(b), f, a / b);
}

T power(T a, int64_t exponent) {
  T result = nullptr;
  for (T base = a; exponent > 0; exponent >>= 1) {
    if (exponent & 1) result = result ? result * base : base;
    if (exponent > 1) base = squared(base);
  }
  return result ? result : expand(number(1, a), unary("Shape", a));
}

T power(T a, T b) {
  if (is_float(a.dtype())) return node("Pow", {a, b});
  // Pow goes through floats.
  if (unsigned_type(a.dtype())) return power_by_digits(a, b);
  T one = number(1, a), zero = number(0, a), minus = number(-1, a);
  T negative = b < zero;
  T result = power_by_digits(a, where(negative, zero, b));
  // 1 / a^|b| rounded towards zero: 1 for 1, the sign's parity for -1, 0 for everything else.
  T parity = node("Mod", {b, number(2, b)});
  T sign = one - 2 * parity;
  T inverse = where(equal(a, one), one, where(equal(a, minus), sign, zero));
  return where(negative, inverse, result);
}

T atan2(T y, T x) {
  T zero = number(0, x), one = number(1, x);
  // 1 / -0 is below zero; 1 / -inf is not, hence both tests.
  const auto negative = [&](T v) { return (v < zero) | (reciprocal(v) < zero); };
  T ax = abs(x), ay = abs(y);
  // Equal sizes, infinities among them, make 1; two zeros make 0.
  T quotient = where(equal(ax, ay), where(to_bool(ax), one, zero), ay / ax);
  T angle = unary("Atan", quotient);
  angle = where(negative(x), std::numbers::pi - angle, angle);
  return where(negative(y), -angle, angle);
}

// exp(x) - 1 = tanh(x / 2) * (exp(x) + 1), which loses nothing near 0.
T expm1(T x) {
  T half = tanh(x * 0.5);
  return half * (exp(x) + 1);
}

// W. Kahan's correction: log(u) * x / (u - 1) with u = 1 + x; x itself where u is 1.
T log1p(T x) {
  T one = number(1, x);
  T u = x + one, d = u - one, log_u = log(u);
  T corrected = log_u * (x / d);
  corrected = where(x < one, corrected, log_u);
  return where(to_bool(d), corrected, x);
}

// log(8) / log(2) is below 3 in float32, which a floor after it shows; float64 rounds to 3.
T log_base(T x, double base) {
  const DType t = x.dtype();
  T wide = cast(x, DType::Double);
  return cast(log(wide) / std::log(base), t);
}

T hypot(T a, T b) {
  a = abs(a), b = abs(b);
  T high = maximum(a, b), low = minimum(a, b);
  T ratio = low / high;
  T length = sqrt(1 + ratio * ratio);
  // 0 / 0 and inf / inf: the larger side is the length.
  T flat = ~to_bool(high) | equal(high, INFINITY);
  return where(flat, high, high * length);
}

}  // namespace oe::lower
