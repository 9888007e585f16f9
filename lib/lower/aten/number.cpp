// TorchScript's numbers: arithmetic, comparison and logic of int64, float64 and bool.
#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Numbers are 0-d tensors here; capture recorded whether a result is an int or a float.

// Python's min and max, unlike the tensors', give the second one when a comparison fails: of NaN
// and a number whichever comes last, of 0.0 and -0.0 too.
T lower_of(T a, T b) { return is_float(a.dtype()) ? where(a < b, a, b) : minimum(a, b); }
T higher_of(T a, T b) { return is_float(a.dtype()) ? where(b < a, a, b) : maximum(a, b); }

// Of floats it is floor(a / b), unlike the tensors' exact form.
T floor_of_quotient(T a, T b) { return is_float(a.dtype()) ? floor(a / b) : floor_div(a, b); }

T negate(T x) { return -x; }
T absolute(T x) { return abs(x); }

// Lists of known length.
template <T (*F)(T, T)>
T folded(const Values& list) {
  T out = nullptr;
  for (T v : list) out = out ? F(out, v) : v;
  return out;
}
// Of a list NaN counts only where it is the first.
template <T (*F)(T, T)>
T next_or(T out, T next) {
  return F(next, out);
}
constexpr auto lowest_of = folded<next_or<lower_of>>;
constexpr auto highest_of = folded<next_or<higher_of>>;
T total(Call& g, const Values& list) {
  return list.empty() ? g.integer(0, g.result_dtype()) : folded<add>(list);
}
T all_of(Call& g, const Values& list) {
  T out = g.boolean(true);
  for (T v : list) out = out & to_bool(v);
  return out;
}
T any_of(Call& g, const Values& list) {
  T out = g.boolean(false);
  for (T v : list) out = out | to_bool(v);
  return out;
}
T how_many(Call& g, const Values& list) {
  T out = g.integer(0, g.result_dtype());
  for (T v : list) out = out + cast(v, g.result_dtype());
  return out;
}

template <FixedString Op>
T compare_numbers(Call& g, T a, T b) {
  constexpr bool negated = Op.view() == "NotEqual";
  constexpr bool ordered = Op.view() != "Equal" && !negated;
  auto [x, y] = comparison(g, a, b, ordered);
  return negated ? ~equal(x, y) : node(Op.view(), {x, y});
}
template <FixedString Op>
T direct(T a, T b) {
  return node(Op.view(), {a, b});
}
T negation(T x) { return ~x; }

// Python's shifts of integers: a * 2^b and floor(a / 2^b). LibTorch leaves amounts beyond 63 open,
// for which BitShift's expansion below opset 28 would have to compare.
T two_to(Call& g, T b) {
  Ints powers;
  for (int bit = 0; bit < 64; ++bit) powers.push_back(static_cast<int64_t>(uint64_t{1} << bit));
  return gather(g.tensor(Tensor::of<int64_t>(DType::Int64, {64}, powers), "powers_of_two"), b, 0);
}
T shift_left(Call& g, T a, T b) { return a * two_to(g, b); }
T shift_right(Call& g, T a, T b) { return floor_div(a, two_to(g, b)); }

constexpr Lowering table[] = {
    typed<add>("aten::add(Scalar a, Scalar b) -> Scalar"),
    typed<sub>("aten::sub(Scalar a, Scalar b) -> Scalar"),
    typed<mul>("aten::mul(Scalar a, Scalar b) -> Scalar"),
    typed<div>("aten::div(Scalar a, Scalar b) -> float"),
    typed<floor_of_quotient>("aten::floordiv(Scalar a, Scalar b) -> Scalar"),
    typed<remainder>("aten::remainder(Scalar a, Scalar b) -> Scalar"),
    typed<fmod>("aten::fmod(Scalar a, Scalar b) -> float"),
    typed("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float",
          [](T a, T b) { return power(a, b); }),
    typed<lower_of>("prim::min(Scalar a, Scalar b) -> Scalar"),
    typed<higher_of>("prim::max(Scalar a, Scalar b) -> Scalar"),
    op<lowest_of>("prim::min.self_int(int[] self) -> int"),
    op<lowest_of>("prim::min.self_float(float[] self) -> float"),
    op<highest_of>("prim::max.self_int(int[] self) -> int"),
    op<highest_of>("prim::max.self_float(float[] self) -> float"),
    op<all_of>("prim::min.self_bool(bool[] self) -> bool"),
    op<any_of>("prim::max.self_bool(bool[] self) -> bool"),
    op<total>("aten::sum.int(int[] self) -> int"),
    op<total>("aten::sum.float(float[] self) -> float"),
    op<how_many>("aten::sum.bool(bool[] self) -> int"),
    op<all_of>("aten::all.int(int[] self) -> bool"),
    op<all_of>("aten::all.float(float[] self) -> bool"),
    op<all_of>("aten::all.bool(bool[] self) -> bool"),
    op<any_of>("aten::any.int(int[] self) -> bool"),
    op<any_of>("aten::any.float(float[] self) -> bool"),
    op<any_of>("aten::any.bool(bool[] self) -> bool"),
    op<negate>("aten::neg.Scalar(Scalar a) -> Scalar"),
    op<absolute>("prim::abs.Scalar(Scalar a) -> Scalar"),
    op<compare_numbers<"Equal">>("aten::eq(Scalar a, Scalar b) -> bool"),
    op<compare_numbers<"NotEqual">>("aten::ne(Scalar a, Scalar b) -> bool"),
    op<compare_numbers<"Less">>("aten::lt(Scalar a, Scalar b) -> bool"),
    op<compare_numbers<"LessOrEqual">>("aten::le(Scalar a, Scalar b) -> bool"),
    op<compare_numbers<"Greater">>("aten::gt(Scalar a, Scalar b) -> bool"),
    op<compare_numbers<"GreaterOrEqual">>("aten::ge(Scalar a, Scalar b) -> bool"),
    op<direct<"And">>("aten::__and__.bool(bool a, bool b) -> bool"),
    op<direct<"BitwiseAnd">>("aten::__and__.int(int a, int b) -> int"),
    op<direct<"Or">>("aten::__or__.bool(bool a, bool b) -> bool"),
    op<direct<"BitwiseOr">>("aten::__or__.int(int a, int b) -> int"),
    op<direct<"Xor">>("aten::__xor__.bool(bool a, bool b) -> bool"),
    op<direct<"BitwiseXor">>("aten::__xor__.int(int a, int b) -> int"),
    op<negation>("aten::__not__(bool self) -> bool"),
    op<shift_left>("aten::__lshift__.int(int a, int b) -> int"),
    op<shift_right>("aten::__rshift__.int(int a, int b) -> int"),
};

}  // namespace

Table number_rows() { return table; }

}  // namespace oe::lower
