// Comparisons, tests for special values, logic, bits and selection.
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

// Operands in their common type; equality knows bools, order does not.
template <FixedString Op>
T compare(Call& g, T a, T b) {
  constexpr bool negated = Op.view() == "NotEqual";
  const auto [x, y] = comparison(g, a, b, Op.view() != "Equal" && !negated);
  return negated ? ~equal(x, y) : node(Op.view(), {x, y});
}

// Logic works on the truth of any type: NaN and every number but 0 are true.
template <FixedString Op>
T logic(T a, T b) {
  return node(Op.view(), {to_bool(a), to_bool(b)});
}

// And, Or, Xor for bools; BitwiseAnd, ... for integers.
template <FixedString Op>
T bits(T a, T b) {
  const std::string op(Op.view());
  return node(a.dtype() == DType::Bool ? op : "Bitwise" + op, {a, b});
}

T bits_not(T x) { return node(x.dtype() == DType::Bool ? "Not" : "BitwiseNot", {x}); }

template <FixedString Direction>
T shift(T a, T b) {
  return node("BitShift", {a, b}, {{"direction", std::string(Direction.view())}});
}

// Integers and bools are never NaN and never infinite; the shape still counts.
T all_false(T x) { return ~equal(x, x); }
T finite(T x) {
  if (!is_float(x.dtype())) return equal(x, x);
  return abs(x) < kInf;
}
template <bool negative, bool positive>
T infinite(T x) {
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

T all_close(Call& g, T a, T b, double rtol, double atol, bool equal_nan) {
  T wrong = ~close(g, a, b, rtol, atol, equal_nan);
  return equal(reduce("ReduceSum", cast(wrong, DType::Int64), {}, false), 0);
}

T real(T x) { return ~(to_bool(x) & ~to_bool(x)); }

T signbit(T x) {
  if (x.dtype() == DType::Bool) return all_false(x);
  return is_float(x.dtype()) ? (x < 0) | (reciprocal(x) < 0) : x < 0;
}

T logical_not(T x) { return ~to_bool(x); }

T select(Call& g, T condition, T a, T b) {
  const DType t = g.result_dtype();
  return where(to_bool(condition), cast(a, t), cast(b, t));
}

T masked_fill(T self, T mask, T value) {
  return where(to_bool(mask), cast(value, self.dtype()), self);
}

constexpr Lowering table[] = {
    op<compare<"Equal">>("aten::eq.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"Equal">>("aten::eq.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<compare<"NotEqual">>("aten::ne.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"NotEqual">>("aten::ne.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<compare<"Less">>("aten::lt.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"Less">>("aten::lt.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<compare<"LessOrEqual">>("aten::le.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"LessOrEqual">>("aten::le.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<compare<"Greater">>("aten::gt.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"Greater">>("aten::gt.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<compare<"GreaterOrEqual">>("aten::ge.Tensor(Tensor self, Tensor other) -> Tensor"),
    op<compare<"GreaterOrEqual">>("aten::ge.Scalar(Tensor self, Scalar other) -> Tensor"),
    op<close>(
        "aten::isclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"),
    op<all_close>(
        "aten::allclose(Tensor self, Tensor other, float rtol=1.0000000000000001e-05, float atol=1e-08, bool equal_nan=False) -> bool"),
    op<nan>("aten::isnan(Tensor self) -> Tensor"),
    op<infinite<true, true>>("aten::isinf(Tensor self) -> Tensor"),
    op<infinite<false, true>>("aten::isposinf(Tensor self) -> Tensor"),
    op<infinite<true, false>>("aten::isneginf(Tensor self) -> Tensor"),
    op<finite>("aten::isfinite(Tensor self) -> Tensor"),
    op<real>("aten::isreal(Tensor self) -> Tensor"),
    op<signbit>("aten::signbit(Tensor self) -> Tensor"),
    op<logic<"And">>("aten::logical_and(Tensor self, Tensor other) -> Tensor"),
    op<logic<"Or">>("aten::logical_or(Tensor self, Tensor other) -> Tensor"),
    op<logic<"Xor">>("aten::logical_xor(Tensor self, Tensor other) -> Tensor"),
    op<logical_not>("aten::logical_not(Tensor self) -> Tensor"),
    op<bits_not>("aten::bitwise_not(Tensor self) -> Tensor"),
    typed<bits<"And">>(names("aten::bitwise_and.Tensor", "aten::__and__.Tensor"),
                       "(Tensor self, Tensor other) -> Tensor"),
    typed<bits<"And">>(names("aten::bitwise_and.Scalar", "aten::__and__.Scalar"),
                       "(Tensor self, Scalar other) -> Tensor"),
    typed<bits<"And">>("aten::bitwise_and.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    typed<bits<"Or">>(names("aten::bitwise_or.Tensor", "aten::__or__.Tensor"),
                      "(Tensor self, Tensor other) -> Tensor"),
    typed<bits<"Or">>(names("aten::bitwise_or.Scalar", "aten::__or__.Scalar"),
                      "(Tensor self, Scalar other) -> Tensor"),
    typed<bits<"Or">>("aten::bitwise_or.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    typed<bits<"Xor">>(names("aten::bitwise_xor.Tensor", "aten::__xor__.Tensor"),
                       "(Tensor self, Tensor other) -> Tensor"),
    typed<bits<"Xor">>(names("aten::bitwise_xor.Scalar", "aten::__xor__.Scalar"),
                       "(Tensor self, Scalar other) -> Tensor"),
    typed<bits<"Xor">>("aten::bitwise_xor.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    typed<shift<"LEFT">>(names("aten::bitwise_left_shift.Tensor", "aten::__lshift__.Tensor"),
                         "(Tensor self, Tensor other) -> Tensor"),
    typed<shift<"LEFT">>(names("aten::bitwise_left_shift.Tensor_Scalar", "aten::__lshift__.Scalar"),
                         "(Tensor self, Scalar other) -> Tensor"),
    typed<shift<"LEFT">>(
        "aten::bitwise_left_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    typed<shift<"RIGHT">>(names("aten::bitwise_right_shift.Tensor", "aten::__rshift__.Tensor"),
                          "(Tensor self, Tensor other) -> Tensor"),
    typed<shift<"RIGHT">>(
        names("aten::bitwise_right_shift.Tensor_Scalar", "aten::__rshift__.Scalar"),
        "(Tensor self, Scalar other) -> Tensor"),
    typed<shift<"RIGHT">>(
        "aten::bitwise_right_shift.Scalar_Tensor(Scalar self, Tensor other) -> Tensor"),
    op<select>("aten::where.self(Tensor condition, Tensor self, Tensor other) -> Tensor"),
    op<select>("aten::where.ScalarOther(Tensor condition, Tensor self, Scalar other) -> Tensor"),
    op<select>("aten::where.ScalarSelf(Tensor condition, Scalar self, Tensor other) -> Tensor"),
    op<select>("aten::where.Scalar(Tensor condition, Scalar self, Scalar other) -> Tensor"),
    op<masked_fill>("aten::masked_fill.Scalar(Tensor self, Tensor mask, Scalar value) -> Tensor"),
    op<masked_fill>("aten::masked_fill.Tensor(Tensor self, Tensor mask, Tensor value) -> Tensor"),
};

}  // namespace

Table compare_rows() { return table; }

}  // namespace oe::lower
