// Comparisons, tests for special values, logic, bits and selection.
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Operands in their common type; equality knows bools, order does not.
T compare(Call& g, std::string_view op, T a, T b) {
  const bool ordered = op != "Equal" && op != "NotEqual";
  auto [x, y] = comparison(g, a, b, ordered);
  if (op == "NotEqual") return ~equal(x, y);
  return node(op, {x, y});
}

template <FixedString Op>
constexpr auto tensors = [](Call& g, T a, T b) { return compare(g, Op.view(), a, b); };
// The number in the type that both are compared in, so that no cast of a constant is needed.
template <FixedString Op>
constexpr auto number = [](Call& g, T a, const Scalar& b) {
  return compare(g, Op.view(), a, g.scalar(b, result_type(g, {0, 1})));
};

// Logic works on the truth of any type: NaN and every number but 0 are true.
template <FixedString Op>
constexpr auto logic = [](T a, T b) {
  return node(Op.view(), {to_bool(a), to_bool(b)});
};

// And, Or, Xor for bools; BitwiseAnd, ... for integers.
T bits(Call& g, std::string_view op, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  const bool boolean = g.result_dtype() == DType::Bool;
  return node(boolean ? std::string(op) : "Bitwise" + std::string(op), {x, y});
}
template <FixedString Op>
constexpr auto bits_tensors = [](Call& g, T a, T b) { return bits(g, Op.view(), a, b); };
template <FixedString Op>
constexpr auto bits_number = [](Call& g, T a, const Scalar& b) {
  return bits(g, Op.view(), a, g.scalar(b, g.result_dtype()));
};
template <FixedString Op>
constexpr auto number_bits = [](Call& g, const Scalar& a, T b) {
  return bits(g, Op.view(), g.scalar(a, g.result_dtype()), b);
};

T bits_not(T x) { return node(x.dtype() == DType::Bool ? "Not" : "BitwiseNot", {x}); }

template <FixedString Direction>
T shift(Call& g, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  return node("BitShift", {x, y}, {{"direction", std::string(Direction.view())}});
}
template <FixedString Direction>
constexpr auto shift_tensors = [](Call& g, T a, T b) { return shift<Direction>(g, a, b); };
template <FixedString Direction>
constexpr auto shift_number = [](Call& g, T a, const Scalar& b) {
  return shift<Direction>(g, a, g.scalar(b, g.result_dtype()));
};
template <FixedString Direction>
constexpr auto number_shift = [](Call& g, const Scalar& a, T b) {
  return shift<Direction>(g, g.scalar(a, g.result_dtype()), b);
};

// Integers and bools are never NaN and never infinite; the shape still counts.
T all_false(T x) { return ~equal(x, x); }
T finite(T x) {
  if (!is_float(x.dtype())) return equal(x, x);
  return abs(x) < kInf;
}
T infinite(T x, bool negative, bool positive) {
  if (!is_float(x.dtype())) return all_false(x);
  return node("IsInf", {x},
              {{"detect_negative", int64_t{negative}}, {"detect_positive", int64_t{positive}}});
}
T nan(T x) { return is_float(x.dtype()) ? is_nan(x) : all_false(x); }

// |a - b| <= atol + rtol * |b| where both are finite, equality elsewhere.
T close(Call& g, T a, T b, double rtol, double atol, bool equal_nan) {
  DType t = result_type(g, {0, 1});
  a = cast(a, t), b = cast(b, t);
  T same = equal(a, b);
  if (equal_nan) same = same | (nan(a) & nan(b));
  if (!is_float(t)) t = DType::Float;
  a = cast(a, t), b = cast(b, t);
  T allowed = atol + rtol * abs(b);
  T error = abs(a - b);
  T near = finite(error) & (error <= allowed);
  return same | near;
}

T all_true(T b) {
  T wrong = cast(~b, DType::Int64);
  T count = node("ReduceSum", {wrong}, {{"keepdims", int64_t{0}}});
  return equal(count, 0);
}

T select(Call& g, T condition, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  return where(to_bool(condition), x, y);
}

T masked_fill(T self, T mask, T value) {
  return where(to_bool(mask), cast(value, self.dtype()), self);
}

constexpr Lowering table[] = {
    op("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"Equal">),
    op("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor", number<"Equal">),
    op("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"NotEqual">),
    op("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor", number<"NotEqual">),
    op("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"Less">),
    op("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor", number<"Less">),
    op("aten::le.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"LessOrEqual">),
    op("aten::le.Scalar(Tensor self, Scalar other) -> Tensor", number<"LessOrEqual">),
    op("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"Greater">),
    op("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor", number<"Greater">),
    op("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor", tensors<"GreaterOrEqual">),
    op("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor", number<"GreaterOrEqual">),
    op("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor",
       [](Call& g, T a, T b, double rtol, double atol, bool equal_nan) {
         return close(g, a, b, rtol, atol, equal_nan);
       }),
    op("aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool",
       [](Call& g, T a, T b, double rtol, double atol, bool equal_nan) {
         return all_true(close(g, a, b, rtol, atol, equal_nan));
       }),
    op<nan>("aten::isnan(Tensor self) -> Tensor"),
    op("aten::isinf(Tensor self) -> Tensor", [](T x) { return infinite(x, true, true); }),
    op("aten::isposinf(Tensor self) -> Tensor", [](T x) { return infinite(x, false, true); }),
    op("aten::isneginf(Tensor self) -> Tensor", [](T x) { return infinite(x, true, false); }),
    op<finite>("aten::isfinite(Tensor self) -> Tensor"),
    op("aten::isreal(Tensor self) -> Tensor", [](T x) { return ~(to_bool(x) & ~to_bool(x)); }),
    op("aten::signbit(Tensor self) -> Tensor",
       [](T x) {
         T zero = build::number(0, x);
         if (!is_float(x.dtype())) return x.dtype() == DType::Bool ? all_false(x) : x < zero;
         return (x < zero) | (reciprocal(x) < zero);
       }),
    op("aten::logical_and(Tensor self, Tensor other) -> Tensor", logic<"And">),
    op("aten::logical_or(Tensor self, Tensor other) -> Tensor", logic<"Or">),
    op("aten::logical_xor(Tensor self, Tensor other) -> Tensor", logic<"Xor">),
    op("aten::logical_not(Tensor self) -> Tensor", [](T x) { return ~to_bool(x); }),
    op<bits_not>("aten::bitwise_not(Tensor self) -> Tensor"),
    op(names("aten::bitwise_and.Tensor", "aten::__and__.Tensor"),
       "(Tensor self, Tensor other) -> Tensor", bits_tensors<"And">),
    op(names("aten::bitwise_and.Scalar", "aten::__and__.Scalar"),
       "(Tensor self, Scalar other) -> Tensor", bits_number<"And">),
    op("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"And">),
    op(names("aten::bitwise_or.Tensor", "aten::__or__.Tensor"),
       "(Tensor self, Tensor other) -> Tensor", bits_tensors<"Or">),
    op(names("aten::bitwise_or.Scalar", "aten::__or__.Scalar"),
       "(Tensor self, Scalar other) -> Tensor", bits_number<"Or">),
    op("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"Or">),
    op(names("aten::bitwise_xor.Tensor", "aten::__xor__.Tensor"),
       "(Tensor self, Tensor other) -> Tensor", bits_tensors<"Xor">),
    op(names("aten::bitwise_xor.Scalar", "aten::__xor__.Scalar"),
       "(Tensor self, Scalar other) -> Tensor", bits_number<"Xor">),
    op("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"Xor">),
    op(names("aten::__lshift__.Tensor", "aten::bitwise_left_shift.Tensor"),
       "(Tensor self, Tensor other) -> Tensor", shift_tensors<"LEFT">),
    op(names("aten::__lshift__.Scalar", "aten::bitwise_left_shift.Tensor_Scalar"),
       "(Tensor self, Scalar other) -> Tensor", shift_number<"LEFT">),
    op(names("aten::__rshift__.Tensor", "aten::bitwise_right_shift.Tensor"),
       "(Tensor self, Tensor other) -> Tensor", shift_tensors<"RIGHT">),
    op(names("aten::__rshift__.Scalar", "aten::bitwise_right_shift.Tensor_Scalar"),
       "(Tensor self, Scalar other) -> Tensor", shift_number<"RIGHT">),
    op("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_shift<"LEFT">),
    op("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_shift<"RIGHT">),
    op<select>("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"),
    op("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
       [](Call& g, T c, T a, const Scalar& b) {
         return select(g, c, a, g.scalar(b, g.result_dtype()));
       }),
    op("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
       [](Call& g, T c, const Scalar& a, T b) {
         return select(g, c, g.scalar(a, g.result_dtype()), b);
       }),
    op("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
       [](Call& g, T c, const Scalar& a, const Scalar& b) {
         return select(g, c, g.scalar(a, g.result_dtype()), g.scalar(b, g.result_dtype()));
       }),
    op("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
       [](Call& g, T x, T mask, const Scalar& value) {
         return masked_fill(x, mask, g.scalar(value, x.dtype()));
       }),
    op<masked_fill>("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor"),
};

}  // namespace

Table compare_rows() { return table; }

}  // namespace oe::lower
