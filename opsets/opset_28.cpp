// Opset 28: signed BitShift, floor Mod of floats, SpaceToDepth modes, SwiGLU.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

DType unsigned_of(DType t) {
  switch (t) {
    case DType::Int8:
      return DType::UInt8;
    case DType::Int16:
      return DType::UInt16;
    case DType::Int32:
      return DType::UInt32;
    case DType::Int64:
      return DType::UInt64;
    default:
      return t;
  }
}

// Below 28 only unsigned types shift, and an amount of the type's width or more is undefined.
void bit_shift(Rewriter& r, ir::Node& n) {
  T x = r.in(0), y = r.in(1);
  const DType t = x.dtype(), u = unsigned_of(t);
  const auto bits = static_cast<int64_t>(8 * byte_size(t));
  const bool right = n.attributes.get_or<std::string>("direction", "") == "RIGHT";
  const auto amounts = ints(y);
  const bool in_range = amounts && std::all_of(amounts->begin(), amounts->end(),
                                               [&](int64_t a) { return a >= 0 && a < bits; });
  if (t == u && in_range) return r.keep();
  if (in_range && y.rank() == 0 && amounts->at(0) < bits - (right ? 1 : 0)) {
    T power = r.integer(static_cast<int64_t>(uint64_t{1} << amounts->at(0)), t);
    if (!right) return r.bind(n.outputs[0], x * power);
    return r.bind(n.outputs[0], (x - node("Mod", {x, power})) / power);
  }

  T zero = r.number(0, t), outside = nullptr;
  if (!in_range) {
    outside = ~(y < static_cast<double>(bits));
    if (t != u) outside = outside | (y < zero);
    y = where(outside, static_cast<double>(bits - 1), y);
  }
  const auto shifted = [&](T v) {
    T s = node("BitShift", {cast(v, u), cast(y, u)},
               {{"direction", std::string(right ? "RIGHT" : "LEFT")}});
    s->type = ir::Type::tensor(u, broadcast_shape({v, y}));
    return cast(s, t);
  };
  if (t == u || !right) {
    T s = shifted(x);
    return r.bind(n.outputs[0], outside ? where(outside, zero, s) : s);
  }
  // Arithmetic shift of a negative x is the complement of the shift of its complement -1 - x.
  T ones = r.number(-1, t);
  T negative = x < zero;
  T s = shifted(where(negative, ones - x, x));
  r.bind(n.outputs[0], where(negative, ones - s, s));
}

// Whether the remainder has another sign than the divisor. Zeros have none.
T has_other_sign(T rest, T divisor, T zero) {
  if (const TensorPtr known = content(divisor)) {
    const std::vector<double> all = known->as_double();
    if (std::ranges::all_of(all, [](double v) { return v > 0; })) return rest < zero;
    if (std::ranges::all_of(all, [](double v) { return v < 0; })) return rest > zero;
  }
  return node("Sign", {rest}) * node("Sign", {divisor}) < zero;
}

// Below 28 floats take the C remainder only: move it to the divisor's sign.
void mod(Rewriter& r, ir::Node& n) {
  T x = r.in(0), y = r.in(1);
  const DType t = x.dtype();
  if (n.attributes.get_or<int64_t>("fmod", 0) == 1 || !is_float(t)) return r.keep();
  T rest = node("Mod", {x, y}, {{"fmod", int64_t{1}}});
  r.bind(n.outputs[0], where(has_other_sign(rest, y, r.number(0, t)), rest + y, rest));
}

void space_to_depth(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<std::string>("mode", "DCR") != "DCR") return move_blocks(r, n);
  n.attributes.erase("mode");
  r.keep();
}

// Below 28 only float is listed, which the type pass casts half types to.
void celu_of_doubles(Rewriter& r, ir::Node& n) {
  r.in(0).dtype() == DType::Double ? celu(r, n) : r.keep();
}

constexpr Row rows[] = {
    rewrite("BitShift", bit_shift),
    same("Cast"),
    rewrite("Celu", celu_of_doubles),
    same("Compress"),
    same("DepthToSpace"),
    same("DequantizeLinear"),
    same("Einsum"),
    rewrite("Mod", mod),
    same("OneHot"),
    same("Optional"),
    same("OptionalGetElement"),
    same("OptionalHasElement"),
    same("QuantizeLinear"),
    same("ReduceLogSum"),
    same("ReduceLogSumExp"),
    same("ReverseSequence"),
    rewrite("SpaceToDepth", space_to_depth),
    body("SwiGLU"),
    same("Unique"),
};

}  // namespace

Rung opset_28() { return rows; }

}  // namespace oe::opsets
