// ATen's pointwise formulas that ONNX has no operator for. Operands have one type already.
#pragma once

#include "lib/lower/promotion.h"

namespace oe::lower {

// The operators as functions, for tables that take one.
inline T add(T a, T b) { return a + b; }
inline T sub(T a, T b) { return a - b; }
inline T mul(T a, T b) { return a * b; }
inline T div(T a, T b) { return a / b; }

// Towards zero, for floats; integers stay as they are. There is no Trunc in ONNX.
T trunc(T x);
// Division of operands of one type, of integers too: towards minus infinity, and towards zero.
// The float forms are ATen's (c10/util/generic_math.h), exact where a / b rounds up to an integer.
T floor_div(T a, T b);
T trunc_div(T a, T b);
// Between two numbers, low <= high. NaN stays NaN.
T clip(T x, T low, T high);
T clip(T x, double low, double high);
// The remainder that has the divisor's sign (Python's %), and the one that has the dividend's.
T remainder(T a, T b);
T fmod(T a, T b);
// a ** b for operands of one type; integers are exact and wrap.
T power(T a, T b);
T power(T a, int64_t exponent);  // exponent >= 0, by squaring
// Quadrant-aware arc tangent of y / x, with infinities and signed zeros as in C.
T atan2(T y, T x);
// sqrt(a * a + b * b) without overflow on the way.
T hypot(T a, T b);
T expm1(T x);                  // exact near 0
T log1p(T x);                  // exact near 0
T log_base(T x, double base);  // exact at powers of the base

}  // namespace oe::lower
