// Bitwise operators on integers, digit by digit.
#include <algorithm>
#include <limits>

#include "opsets/expand.h"

namespace oe::opsets {

// The operands are seen as int64 (two's complement): a sign, and `digits` binary digits of what is
// left when the weight of the sign is taken off.
void bitwise(Rewriter& r, ir::Node& n) {
  const DType t = r.in(0).dtype();
  const auto bits = static_cast<int>(8 * byte_size(t));
  const bool has_sign = is_signed_integer(t) || bits == 64;
  const int digits = has_sign ? bits - 1 : bits;
  const int64_t lowest =
      bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  Ints powers;
  for (int i = 0; i < digits; ++i) powers.push_back(int64_t{1} << i);
  T weight = r.i64s(powers), zero = r.i64(0), two = r.i64(2), base = r.i64(lowest);

  struct Operand {
    T negative = nullptr, digit = nullptr;
  };
  const auto take_apart = [&](T v) {
    Operand o;
    T x = cast(v, DType::Int64);
    if (has_sign) {
      o.negative = x < zero;
      x = where(o.negative, x - base, x);
    }
    T column = unsqueeze(x, {v.rank()});
    o.digit = node("Mod", {column / weight, two});
    return o;
  };
  const Operand a = take_apart(r.in(0)), b = take_apart(r.in(1));
  T both = a.digit * b.digit, digit = both;
  const char* logical = "And";
  if (n.op == "BitwiseOr") {
    digit = a.digit + b.digit - both;
    logical = "Or";
  } else if (n.op == "BitwiseXor") {
    digit = node("Mod", {a.digit + b.digit, two});
    logical = "Xor";
  }
  // ONNX Runtime adds int64 in double: digits from 32 on are added apart.
  const auto total = [&](int from, int to) {
    Ints w(static_cast<size_t>(digits), 0);
    for (int i = from; i < std::min(to, digits); ++i)
      w[static_cast<size_t>(i)] = int64_t{1} << (i - from);
    return reduce("ReduceSum", digit * r.i64s(w), {digit.rank() - 1}, false);
  };
  T y = total(0, 32);
  if (digits > 32) y = y + total(32, 64) * (int64_t{1} << 32);
  if (has_sign) {
    T negative = node(logical, {a.negative, b.negative});
    y = where(negative, y + base, y);
  }
  r.bind(n.outputs[0], cast(y, t));
}

// -1 - x for signed types, the largest number minus x for unsigned ones.
void bitwise_not(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const DType t = x.dtype();
  const std::vector<uint8_t> ones(byte_size(t), 0xff);  // of every type: all bits set
  T all = r.tensor(Tensor::from_bytes(t, {}, ones.data(), ones.size()));
  r.bind(n.outputs[0], all - x);
}

}  // namespace oe::opsets
