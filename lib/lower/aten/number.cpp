// TorchScript's numbers: arithmetic, comparison and logic of int64, float64 and bool.
#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Numbers are 0-d tensors here; capture recorded whether a result is an int or a float.
template <T (*F)(T, T)>
T binary(Call& g, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  return F(x, y);
}
constexpr auto add = binary<lower::add>;
constexpr auto sub = binary<lower::sub>;
constexpr auto mul = binary<lower::mul>;
constexpr auto divide = binary<div>;
constexpr auto pw_remainder = binary<remainder>;
constexpr auto c_fmod = binary<fmod>;
constexpr auto power = binary<lower::power>;

// Python's min and max, unlike the tensors', give the second one when a comparison fails: of NaN
// and a number whichever comes last, of 0.0 and -0.0 too.
T lower_of(T a, T b) { return is_float(a.dtype()) ? where(a < b, a, b) : minimum(a, b); }
T higher_of(T a, T b) { return is_float(a.dtype()) ? where(b < a, a, b) : maximum(a, b); }
constexpr auto lowest = binary<lower_of>;
constexpr auto highest = binary<higher_of>;

// Of floats it is floor(a / b), unlike the tensors' exact form.
T floor_div(Call& g, T a, T b) {
  auto [x, y] = arithmetic(g, a, b);
  if (!is_float(x.dtype())) return lower::floor_div(x, y);
  return floor(x / y);
}

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
  return list.empty() ? g.integer(0, g.result_dtype()) : folded<lower::add>(list);
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

template <FixedString Op>
constexpr auto compare = [](Call& g, T a, T b) {
  constexpr bool negated = Op.view() == "NotEqual";
  constexpr bool ordered = Op.view() != "Equal" && !negated;
  auto [x, y] = comparison(g, a, b, ordered);
  return negated ? ~equal(x, y) : node(Op.view(), {x, y});
};
template <FixedString Op>
constexpr auto logic = [](T a, T b) {
  return node(Op.view(), {a, b});
};
template <FixedString Op>
constexpr auto bits = [](T a, T b) {
  return node("Bitwise" + std::string(Op.view()), {a, b});
};
T negation(T x) { return ~x; }

// Python's shifts of integers: a * 2^b and floor(a / 2^b). LibTorch leaves amounts beyond 63 open,
// for which BitShift's expansion below opset 28 would have to compare.
T two_to(Call& g, T b) {
  Ints powers;
  for (int bit = 0; bit < 64; ++bit) powers.push_back(static_cast<int64_t>(uint64_t{1} << bit));
  return gather(g.tensor(Tensor::of<int64_t>(DType::Int64, {64}, powers), "powers_of_two"), b, 0);
}
T shift_left(Call& g, T a, T b) { return a * two_to(g, b); }
T shift_right(Call& g, T a, T b) { return lower::floor_div(a, two_to(g, b)); }

constexpr Lowering table[] = {
    op<add>("aten::add(Scalar a, Scalar b) -> Scalar"),
    op<sub>("aten::sub(Scalar a, Scalar b) -> Scalar"),
    op<mul>("aten::mul(Scalar a, Scalar b) -> Scalar"),
    op<divide>("aten::div(Scalar a, Scalar b) -> float"),
    op<floor_div>("aten::floordiv(Scalar a, Scalar b) -> Scalar"),
    op<pw_remainder>("aten::remainder(Scalar a, Scalar b) -> Scalar"),
    op<c_fmod>("aten::fmod(Scalar a, Scalar b) -> float"),
    op<power>("aten::pow.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    op<lowest>("prim::min(Scalar a, Scalar b) -> Scalar"),
    op<highest>("prim::max(Scalar a, Scalar b) -> Scalar"),
    op<lowest_of>("prim::min.self_int(int[] self) -> int"),
    op<lowest_of>("prim::min.self_float(float[] self) -> float"),
    op<highest_of>("prim::max.self_int(int[] self) -> int"),
    op<highest_of>("prim::max.self_float(float[] self) -> float"),
    op<total>("aten::sum.int(int[] self) -> int"),
    op<total>("aten::sum.float(float[] self) -> float"),
    op<all_of>("aten::all.int(int[] self) -> bool"),
    op<all_of>("aten::all.float(float[] self) -> bool"),
    op<all_of>("aten::all.bool(bool[] self) -> bool"),
    op<any_of>("aten::any.int(int[] self) -> bool"),
    op<any_of>("aten::any.float(float[] self) -> bool"),
    op<any_of>("aten::any.bool(bool[] self) -> bool"),
    op<negate>("aten::neg.Scalar(Scalar a) -> Scalar"),
    op<absolute>("prim::abs.Scalar(Scalar a) -> Scalar"),
    op("aten::eq(Scalar a, Scalar b) -> bool", compare<"Equal">),
    op("aten::ne(Scalar a, Scalar b) -> bool", compare<"NotEqual">),
    op("aten::lt(Scalar a, Scalar b) -> bool", compare<"Less">),
    op("aten::le(Scalar a, Scalar b) -> bool", compare<"LessOrEqual">),
    op("aten::gt(Scalar a, Scalar b) -> bool", compare<"Greater">),
    op("aten::ge(Scalar a, Scalar b) -> bool", compare<"GreaterOrEqual">),
    op("aten::__and__.bool(bool a, bool b) -> bool", logic<"And">),
    op("aten::__and__.int(int a, int b) -> int", bits<"And">),
    op("aten::__or__.bool(bool a, bool b) -> bool", logic<"Or">),
    op("aten::__or__.int(int a, int b) -> int", bits<"Or">),
    op("aten::__xor__.bool(bool a, bool b) -> bool", logic<"Xor">),
    op("aten::__xor__.int(int a, int b) -> int", bits<"Xor">),
    op<negation>("aten::__not__(bool self) -> bool"),
    op<shift_left>("aten::__lshift__.int(int a, int b) -> int"),
    op<shift_right>("aten::__rshift__.int(int a, int b) -> int"),
};

}  // namespace

Table number_rows() { return table; }

}  // namespace oe::lower
