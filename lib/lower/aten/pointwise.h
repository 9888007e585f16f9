// Short names for pointwise ONNX nodes. Operands have one type already; shapes broadcast.
#pragma once

#include "lib/lower/promotion.h"

namespace oe::lower::pw {

inline Value add(Emit& g, Value a, Value b) { return g.node("Add", {a, b}); }
inline Value sub(Emit& g, Value a, Value b) { return g.node("Sub", {a, b}); }
inline Value mul(Emit& g, Value a, Value b) { return g.node("Mul", {a, b}); }
inline Value div(Emit& g, Value a, Value b) { return g.node("Div", {a, b}); }
inline Value neg(Emit& g, Value a) { return g.node("Neg", {a}); }
inline Value abs(Emit& g, Value a) { return g.node("Abs", {a}); }
inline Value less(Emit& g, Value a, Value b) { return g.node("Less", {a, b}); }
inline Value greater(Emit& g, Value a, Value b) { return g.node("Greater", {a, b}); }
inline Value equal(Emit& g, Value a, Value b) { return g.node("Equal", {a, b}); }
inline Value both(Emit& g, Value a, Value b) { return g.node("And", {a, b}); }
inline Value either(Emit& g, Value a, Value b) { return g.node("Or", {a, b}); }
inline Value differ(Emit& g, Value a, Value b) { return g.node("Xor", {a, b}); }
inline Value no(Emit& g, Value a) { return g.node("Not", {a}); }
inline Value where(Emit& g, Value c, Value a, Value b) { return g.node("Where", {c, a, b}); }
// A 0-d constant of the element type of `like`.
inline Value num(Emit& g, double v, Value like) { return g.number(v, g.dtype(like)); }
inline Value to_bool(Emit& g, Value a) { return g.cast(a, DType::Bool); }  // NaN is true
inline bool unsigned_type(DType t) {
  return t == DType::UInt8 || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}

// Towards zero, for floats; integers stay as they are. There is no Trunc in ONNX.
Value trunc(Emit& g, Value x);
// Division of operands of one type, of integers too: towards minus infinity, and towards zero.
// The float forms are ATen's (c10/util/generic_math.h), exact where a / b rounds up to an integer.
Value floor_div(Emit& g, Value a, Value b);
Value trunc_div(Emit& g, Value a, Value b);
// The remainder that has the divisor's sign (Python's %), and the one that has the dividend's.
Value remainder(Emit& g, Value a, Value b);
Value fmod(Emit& g, Value a, Value b);
// a ** b for operands of one type; integers are exact and wrap.
Value power(Emit& g, Value a, Value b);
Value power(Emit& g, Value a, int64_t exponent);  // exponent >= 0, by squaring
Value powers_of_two(Emit& g);                     // 1-d int64: 1, 2, 4, ... 2^63 (which wraps)
// a < b ? b : a and the like for every type; NaN where either is NaN.
Value maximum(Emit& g, Value a, Value b);
Value minimum(Emit& g, Value a, Value b);
// Quadrant-aware arc tangent of y / x, with infinities and signed zeros as in C.
Value atan2(Emit& g, Value y, Value x);
Value expm1(Emit& g, Value x);                  // exact near 0
Value log1p(Emit& g, Value x);                  // exact near 0
Value log_base(Emit& g, Value x, double base);  // exact at powers of the base

}  // namespace oe::lower::pw
