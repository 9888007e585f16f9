// Complex numbers as what ONNX has of them: two real values, of element type part_type().
//
// A call with a complex operand or result is written in one of these ways (calls.cpp):
//   a row of formulas         aten::mul, aten::exp, ...: tables like those of real operators, whose
//                             tensors arrive as C (complex_tables(), lowering.h)
//   linear in the parts       aten::cat, aten::select, aten::sum, ...: the real operator's row in
//                             each part (linear.cpp)
//   linear in its operands    aten::matmul, aten::conv2d, ...: that row for the products of parts
//   of something real         aten::any, aten::linalg_vector_norm, aten::var, ...: that row on what
//                             the call asks of a number
// An input and an output are pairs on a last axis of 2.
#pragma once

#include <initializer_list>
#include <optional>
#include <string_view>

#include "lib/lower/lowering.h"

namespace oe::lower {

// --- formulas (formulas.cpp). Both operands have one element type.
C operator+(const C& a, const C& b);
C operator-(const C& a, const C& b);
C operator*(const C& a, const C& b);
C operator/(const C& a, const C& b);
C operator-(const C& a);
C operator*(const C& a, T b);
C conj(const C& a);
T abs(const C& a);    // without overflow on the way
T angle(const C& a);  // in (-pi, pi]
C polar(T abs, T angle);
C exp(const C& a);
C log(const C& a);
C sqrt(const C& a);
C square(const C& a);
C times_i(const C& a);
C where(T condition, const C& a, const C& b);
T nonzero(const C& a);    // bool
T imaginary(const C& a);  // zeros where it has none
T zeros_like(T x);

// Pairs on a last axis of 2, and back.
T packed(const C& a);
C unpacked(T pairs);

// --- calls that are linear (linear.cpp)
// In each part alone. Arguments by position: `values` stand for numbers, and where one is real its
// imaginary part is 0; of `like` only shape and type matter. No other argument may be complex.
struct Linear {
  std::string_view name;  // without overload: all of them
  std::initializer_list<size_t> values, like = {};
};
// In each of several operands: arguments, or the elements of one that is a list. The argument
// `added` may be None.
struct Multilinear {
  std::string_view name;
  std::initializer_list<size_t> operands;
  std::optional<size_t> added = {};
};
// The result has no imaginary part.
bool makes_real(std::string_view op);
// Of `truth` is asked whether a number is not 0, of `length` how large it is: the call is that of a
// real operand which says so.
bool asks_truth(std::string_view op);
bool asks_length(std::string_view op);
// Sums over the squares of both parts, of which it takes the root.
enum class Squares { None, Sum, Root };
Squares sums_squares(std::string_view op);
const Linear* find_linear(std::string_view op);
const Multilinear* find_multilinear(std::string_view op);
// All names above, for a test.
std::vector<std::string_view> linear_operators();

}  // namespace oe::lower
