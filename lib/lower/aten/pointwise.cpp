// Pointwise formulas that ONNX has no operator for.
#include "lib/lower/aten/pointwise.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace oe::lower::pw {
namespace {

Value squared(Emit& g, Value x) { return mul(g, x, x); }

// Sizes, constants that are not negative, and what is computed from them. The constants are small,
// so that nothing wraps.
bool not_negative(Value v, int depth = 6) {
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
                     [&](Value in) { return not_negative(in, depth - 1); });
}

// a ** e for e >= 0 of any size, by squaring as often as the largest exponent has digits. A loop:
// the digits are known only when the model runs.
Value power_by_digits(Emit& g, Value a, Value e) {
  const DType t = g.dtype(a);
  Value one = num(g, 1, a), zero = num(g, 0, a), two = num(g, 2, a);
  const auto digits_left = [&](Value v) {
    Value more = g.cast(greater(g, v, zero), DType::Int64);
    Value count = g.node("ReduceSum", {more}, {{"keepdims", int64_t{0}}});
    return greater(g, count, g.i64(0));
  };
  // What the loop carries keeps its shape from step to step.
  Value base = where(g, equal(g, e, e), a, a), exponent = where(g, equal(g, a, a), e, e);
  Value start = where(g, equal(g, base, base), one, one);
  const ir::Type step = ir::Type::tensor(t, base->type.shape);
  const ir::Type flag = ir::Type::tensor(DType::Bool, std::vector<Dim>{});
  const ir::Type counter = ir::Type::tensor(DType::Int64, std::vector<Dim>{});
  const auto body = g.graph("digits", {counter, flag, step, step, step}, [&](const Values& in) {
    Value odd = to_bool(g, g.node("Mod", {in[4], two}));
    Value product = where(g, odd, mul(g, in[2], in[3]), in[2]);
    Value rest = div(g, in[4], two);
    return Values{digits_left(rest), product, squared(g, in[3]), rest};
  });
  Values out =
      g.nodes("Loop", {nullptr, digits_left(exponent), start, base, exponent}, {{"body", body}}, 3);
  for (Value v : out) v->type = step;  // the schema's variadic outputs have no common type
  return out[0];
}

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
  if (!is_float(g.dtype(a))) {
    if (unsigned_type(g.dtype(a)) || (not_negative(a) && not_negative(b))) return div(g, a, b);
    // a / b is cut towards zero; one less where that lost something and the signs differ. Nothing
    // here leaves the type: |q * b| <= |a|.
    Value q = div(g, a, b), m = g.node("Mod", {a, b});
    Value whole = equal(g, sub(g, a, mul(g, q, b)), m);
    return where(g, whole, q, sub(g, q, num(g, 1, q)));
  }
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
  // Pow goes through floats.
  if (unsigned_type(g.dtype(a))) return power_by_digits(g, a, b);
  Value one = num(g, 1, a), zero = num(g, 0, a), minus = num(g, -1, a);
  Value negative = less(g, b, zero);
  Value result = power_by_digits(g, a, where(g, negative, zero, b));
  // 1 / a^|b| rounded towards zero: 1 for 1, the sign's parity for -1, 0 for everything else.
  Value parity = g.node("Mod", {b, num(g, 2, b)});
  Value sign = sub(g, one, mul(g, num(g, 2, a), parity));
  Value inverse = where(g, equal(g, a, one), one, where(g, equal(g, a, minus), sign, zero));
  return where(g, negative, inverse, result);
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
