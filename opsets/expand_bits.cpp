// Bitwise operators on integers, digit by digit.
#include <algorithm>
#include <limits>

#include "opsets/expand.h"

namespace oe::opsets {

// The operands are seen as int64 (two's complement): a sign, and `digits` binary digits of what is
// left when the weight of the sign is taken off.
void bitwise(Rewriter& r, ir::Node& n) {
  const DType t = r.dtype(n.input(0));
  const auto bits = static_cast<int>(8 * byte_size(t));
  const bool has_sign = is_signed_integer(t) || bits == 64;
  const int digits = has_sign ? bits - 1 : bits;
  const int64_t lowest =
      bits == 64 ? std::numeric_limits<int64_t>::min() : -(int64_t{1} << (bits - 1));
  Ints powers;
  for (int i = 0; i < digits; ++i) powers.push_back(int64_t{1} << i);
  Value weight = r.i64s(powers), zero = r.i64(0), two = r.i64(2), base = r.i64(lowest);

  struct Operand {
    Value negative = nullptr, digit = nullptr;
  };
  const auto take_apart = [&](Value v) {
    Operand o;
    Value x = r.cast(v, DType::Int64);
    if (has_sign) {
      o.negative = r.op("Less", {x, zero});
      x = r.op("Where", {o.negative, r.op("Sub", {x, base}), x});
    }
    Value column = r.unsqueeze(x, {r.rank(v)});
    o.digit = r.op("Mod", {r.op("Div", {column, weight}), two});
    return o;
  };
  const Operand a = take_apart(n.input(0)), b = take_apart(n.input(1));
  Value both = r.op("Mul", {a.digit, b.digit}), digit = both;
  const char* logical = "And";
  if (n.op == "BitwiseOr") {
    digit = r.op("Sub", {r.op("Add", {a.digit, b.digit}), both});
    logical = "Or";
  } else if (n.op == "BitwiseXor") {
    digit = r.op("Mod", {r.op("Add", {a.digit, b.digit}), two});
    logical = "Xor";
  }
  // ONNX Runtime adds int64 in double: digits from 32 on are added apart.
  const auto total = [&](int from, int to) {
    Ints w(static_cast<size_t>(digits), 0);
    for (int i = from; i < std::min(to, digits); ++i)
      w[static_cast<size_t>(i)] = int64_t{1} << (i - from);
    return r.reduce("ReduceSum", r.op("Mul", {digit, r.i64s(w)}), {r.rank(digit) - 1}, false);
  };
  Value y = total(0, 32);
  if (digits > 32) y = r.op("Add", {y, r.op("Mul", {total(32, 64), r.i64(int64_t{1} << 32)})});
  if (has_sign) {
    Value negative = r.op(logical, {a.negative, b.negative});
    y = r.op("Where", {negative, r.op("Add", {y, base}), y});
  }
  r.bind(n.outputs[0], r.cast(y, t));
}

// -1 - x for signed types, the largest number minus x for unsigned ones.
void bitwise_not(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const DType t = r.dtype(x);
  const std::vector<uint8_t> ones(byte_size(t), 0xff);  // of every type: all bits set
  Value all = r.constant(Tensor::from_bytes(t, {}, ones.data(), ones.size()));
  r.bind(n.outputs[0], r.op("Sub", {all, x}));
}

}  // namespace oe::opsets
