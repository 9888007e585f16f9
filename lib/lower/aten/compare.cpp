// Comparisons, tests for special values, logic, bits and selection.
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Operands in their common type; equality knows bools, order does not.
Value compare(Emit& g, std::string_view op, Value a, Value b) {
  const bool ordered = op != "Equal" && op != "NotEqual";
  auto [x, y] = comparison(g, a, b, ordered);
  if (op == "NotEqual") return g.node("Not", {g.node("Equal", {x, y})});
  return g.node(op, {x, y});
}

template <FixedString Op>
constexpr auto tensors = [](Emit& g, Value a, Value b) { return compare(g, Op.view(), a, b); };
// The number in the type that both are compared in, so that no cast of a constant is needed.
template <FixedString Op>
constexpr auto number = [](Emit& g, Value a, const Scalar& b) {
  return compare(g, Op.view(), a, g.scalar(b, result_type(g, {0, 1})));
};

// Logic works on the truth of any type: NaN and every number but 0 are true.
template <FixedString Op>
constexpr auto logic = [](Emit& g, Value a, Value b) {
  return g.node(Op.view(), {pw::to_bool(g, a), pw::to_bool(g, b)});
};

// And, Or, Xor for bools; BitwiseAnd, ... for integers.
Value bits(Emit& g, std::string_view op, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  const bool boolean = g.result_dtype() == DType::Bool;
  return g.node(boolean ? std::string(op) : "Bitwise" + std::string(op), {x, y});
}
template <FixedString Op>
constexpr auto bits_tensors = [](Emit& g, Value a, Value b) { return bits(g, Op.view(), a, b); };
template <FixedString Op>
constexpr auto bits_number = [](Emit& g, Value a, const Scalar& b) {
  return bits(g, Op.view(), a, g.scalar(b, g.result_dtype()));
};
template <FixedString Op>
constexpr auto number_bits = [](Emit& g, const Scalar& a, Value b) {
  return bits(g, Op.view(), g.scalar(a, g.result_dtype()), b);
};

Value bits_not(Emit& g, Value x) {
  return g.node(g.dtype(x) == DType::Bool ? "Not" : "BitwiseNot", {x});
}

// 2^b in the type of b, 0 <= b < 64: out of a table, since Pow goes through floats.
Value power_of_two(Emit& g, Value b) {
  Value power = g.node("Gather", {pw::powers_of_two(g), g.cast(b, DType::Int64)});
  return g.cast(power, g.dtype(b));
}

int64_t bit_count(DType t) { return static_cast<int64_t>(byte_size(t)) * 8; }

// a << b of integers: a * 2^b, and 0 where b is no bit position. BitShift knows no signed types.
Value left_shift(Emit& g, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  Value zero = pw::num(g, 0, x), limit = pw::num(g, bit_count(g.dtype(x)), x);
  Value valid = pw::less(g, y, limit);
  if (!pw::unsigned_type(g.dtype(x))) valid = pw::both(g, valid, pw::no(g, pw::less(g, y, zero)));
  Value factor = power_of_two(g, pw::where(g, valid, y, zero));
  return pw::where(g, valid, pw::mul(g, x, factor), zero);
}

// a >> b of integers: floor(a / 2^b); shifts beyond the width leave only the sign.
Value right_shift(Emit& g, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  const bool is_unsigned = pw::unsigned_type(g.dtype(x));
  // 2^(bits - 2) is the largest power of two of a signed type; one more halving leaves the sign.
  Value zero = pw::num(g, 0, x), two = pw::num(g, 2, x);
  Value most = pw::num(g, bit_count(g.dtype(x)) - (is_unsigned ? 1 : 2), x);
  Value over = pw::greater(g, y, most);
  if (!is_unsigned) over = pw::either(g, over, pw::less(g, y, zero));
  Value factor = power_of_two(g, pw::where(g, over, most, y));
  Value shifted = pw::floor_div(g, x, factor);
  return pw::where(g, over, pw::floor_div(g, shifted, two), shifted);
}

template <Value (*F)(Emit&, Value, Value)>
constexpr auto shift_tensors = [](Emit& g, Value a, Value b) { return F(g, a, b); };
template <Value (*F)(Emit&, Value, Value)>
constexpr auto shift_number =
    [](Emit& g, Value a, const Scalar& b) { return F(g, a, g.scalar(b, g.result_dtype())); };
template <Value (*F)(Emit&, Value, Value)>
constexpr auto number_shift =
    [](Emit& g, const Scalar& a, Value b) { return F(g, g.scalar(a, g.result_dtype()), b); };

// Integers and bools are never NaN and never infinite; the shape still counts.
Value all_false(Emit& g, Value x) { return g.node("Not", {g.node("Equal", {x, x})}); }
Value finite(Emit& g, Value x) {
  if (!is_float(g.dtype(x))) return g.node("Equal", {x, x});
  return pw::less(g, pw::abs(g, x), pw::num(g, kInf, x));
}
Value infinite(Emit& g, Value x, bool negative, bool positive) {
  if (!is_float(g.dtype(x))) return all_false(g, x);
  return g.node("IsInf", {x},
                {{"detect_negative", int64_t{negative}}, {"detect_positive", int64_t{positive}}});
}
Value nan(Emit& g, Value x) {
  return is_float(g.dtype(x)) ? g.node("IsNaN", {x}) : all_false(g, x);
}

// |a - b| <= atol + rtol * |b| where both are finite, equality elsewhere.
Value close(Emit& g, Value a, Value b, double rtol, double atol, bool equal_nan) {
  DType t = result_type(g, {0, 1});
  a = g.cast(a, t), b = g.cast(b, t);
  Value same = g.node("Equal", {a, b});
  if (equal_nan) same = pw::either(g, same, pw::both(g, nan(g, a), nan(g, b)));
  if (!is_float(t)) t = DType::Float;
  a = g.cast(a, t), b = g.cast(b, t);
  Value allowed = pw::add(g, g.number(atol, t), pw::mul(g, g.number(rtol, t), pw::abs(g, b)));
  Value error = pw::abs(g, pw::sub(g, a, b));
  Value near = pw::both(g, finite(g, error), g.node("LessOrEqual", {error, allowed}));
  return pw::either(g, same, near);
}

Value all_true(Emit& g, Value b) {
  Value wrong = g.cast(g.node("Not", {b}), DType::Int64);
  Value count = g.node("ReduceSum", {wrong}, {{"keepdims", int64_t{0}}});
  return g.node("Equal", {count, g.i64(0)});
}

Value select(Emit& g, Value condition, Value a, Value b) {
  auto [x, y] = arithmetic(g, a, b);
  return g.node("Where", {pw::to_bool(g, condition), x, y});
}

Value masked_fill(Emit& g, Value self, Value mask, Value value) {
  return g.node("Where", {pw::to_bool(g, mask), g.cast(value, g.dtype(self)), self});
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
    op("aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float "
       "atol=1e-08, bool equal_nan=False) -> Tensor",
       [](Emit& g, Value a, Value b, double rtol, double atol, bool equal_nan) {
         return close(g, a, b, rtol, atol, equal_nan);
       }),
    op("aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float "
       "atol=1e-08, bool equal_nan=False) -> bool",
       [](Emit& g, Value a, Value b, double rtol, double atol, bool equal_nan) {
         return all_true(g, close(g, a, b, rtol, atol, equal_nan));
       }),
    op<nan>("aten::isnan(Tensor self) -> Tensor"),
    op("aten::isinf(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return infinite(g, x, true, true); }),
    op("aten::isposinf(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return infinite(g, x, false, true); }),
    op("aten::isneginf(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return infinite(g, x, true, false); }),
    op<finite>("aten::isfinite(Tensor self) -> Tensor"),
    op("aten::isreal(Tensor self) -> Tensor",
       [](Emit& g, Value x) {
         return pw::no(g, pw::both(g, pw::to_bool(g, x), pw::no(g, pw::to_bool(g, x))));
       }),
    op("aten::signbit(Tensor self) -> Tensor",
       [](Emit& g, Value x) {
         Value zero = pw::num(g, 0, x);
         if (!is_float(g.dtype(x)))
           return g.dtype(x) == DType::Bool ? all_false(g, x) : pw::less(g, x, zero);
         return pw::either(g, pw::less(g, x, zero), pw::less(g, g.node("Reciprocal", {x}), zero));
       }),
    op("aten::logical_and(Tensor self, Tensor other) -> Tensor", logic<"And">),
    op("aten::logical_or(Tensor self, Tensor other) -> Tensor", logic<"Or">),
    op("aten::logical_xor(Tensor self, Tensor other) -> Tensor", logic<"Xor">),
    op("aten::logical_not(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return g.node("Not", {pw::to_bool(g, x)}); }),
    op<bits_not>("aten::bitwise_not(Tensor self) -> Tensor"),
    op("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"And">),
    op("aten::bitwise_and.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"And">),
    op("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"And">),
    op("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"Or">),
    op("aten::bitwise_or.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"Or">),
    op("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"Or">),
    op("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"Xor">),
    op("aten::bitwise_xor.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"Xor">),
    op("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor", number_bits<"Xor">),
    op("aten::__and__.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"And">),
    op("aten::__and__.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"And">),
    op("aten::__or__.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"Or">),
    op("aten::__or__.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"Or">),
    op("aten::__xor__.Tensor(Tensor self, Tensor other) -> Tensor", bits_tensors<"Xor">),
    op("aten::__xor__.Scalar(Tensor self, Scalar other) -> Tensor", bits_number<"Xor">),
    op("aten::__lshift__.Tensor(Tensor self, Tensor other) -> Tensor", shift_tensors<left_shift>),
    op("aten::__lshift__.Scalar(Tensor self, Scalar other) -> Tensor", shift_number<left_shift>),
    op("aten::__rshift__.Tensor(Tensor self, Tensor other) -> Tensor", shift_tensors<right_shift>),
    op("aten::__rshift__.Scalar(Tensor self, Scalar other) -> Tensor", shift_number<right_shift>),
    op("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor",
       shift_tensors<left_shift>),
    op("aten::bitwise_left_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
       shift_number<left_shift>),
    op("aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_shift<left_shift>),
    op("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor",
       shift_tensors<right_shift>),
    op("aten::bitwise_right_shift.Tensor_Scalar(Tensor self, Scalar other) -> Tensor",
       shift_number<right_shift>),
    op("aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor",
       number_shift<right_shift>),
    op<select>("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"),
    op("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor",
       [](Emit& g, Value c, Value a, const Scalar& b) {
         return select(g, c, a, g.scalar(b, g.result_dtype()));
       }),
    op("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor",
       [](Emit& g, Value c, const Scalar& a, Value b) {
         return select(g, c, g.scalar(a, g.result_dtype()), b);
       }),
    op("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor",
       [](Emit& g, Value c, const Scalar& a, const Scalar& b) {
         return select(g, c, g.scalar(a, g.result_dtype()), g.scalar(b, g.result_dtype()));
       }),
    op("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor",
       [](Emit& g, Value x, Value mask, const Scalar& value) {
         return masked_fill(g, x, mask, g.scalar(value, g.dtype(x)));
       }),
    op<masked_fill>("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor"),
};

}  // namespace

Table compare_rows() { return table; }

}  // namespace oe::lower
