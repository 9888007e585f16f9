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
  Value x = n.input(0), y = n.input(1);
  const DType t = r.dtype(x), u = unsigned_of(t);
  const auto bits = static_cast<int64_t>(8 * byte_size(t));
  const bool right = n.attributes.get_or<std::string>("direction", "") == "RIGHT";
  const auto amounts = r.ints(y);
  const bool in_range = amounts && std::all_of(amounts->begin(), amounts->end(),
                                               [&](int64_t a) { return a >= 0 && a < bits; });
  if (t == u && in_range) return r.keep();

  Value zero = r.number(0, t), outside = nullptr;
  if (!in_range) {
    outside = r.op("Not", {r.op("Less", {y, r.number(static_cast<double>(bits), t)})});
    if (t != u) outside = r.op("Or", {outside, r.op("Less", {y, zero})});
    y = r.op("Where", {outside, r.number(static_cast<double>(bits - 1), t), y});
  }
  const auto shifted = [&](Value v) {
    Value s = r.op("BitShift", {r.cast(v, u), r.cast(y, u)},
                   {{"direction", std::string(right ? "RIGHT" : "LEFT")}});
    s->type = ir::Type::tensor(u, broadcast_shape({v, y}));
    return r.cast(s, t);
  };
  if (t == u || !right) {
    Value s = shifted(x);
    return r.bind(n.outputs[0], outside ? r.op("Where", {outside, zero, s}) : s);
  }
  // Arithmetic shift of a negative x is the complement of the shift of its complement -1 - x.
  Value ones = r.number(-1, t);
  Value negative = r.op("Less", {x, zero});
  Value s = shifted(r.op("Where", {negative, r.op("Sub", {ones, x}), x}));
  r.bind(n.outputs[0], r.op("Where", {negative, r.op("Sub", {ones, s}), s}));
}

// Below 28 floats take the C remainder only: move it to the divisor's sign.
void mod(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), y = n.input(1);
  const DType t = r.dtype(x);
  if (n.attributes.get_or<int64_t>("fmod", 0) == 1 || !is_float(t)) return r.keep();
  Value zero = r.number(0, t);
  Value rest = r.op("Mod", {x, y}, {{"fmod", int64_t{1}}});
  Value signs_differ = r.op("Xor", {r.op("Less", {rest, zero}), r.op("Less", {y, zero})});
  Value nonzero = r.op("Not", {r.op("Equal", {rest, zero})});
  r.bind(n.outputs[0],
         r.op("Where", {r.op("And", {nonzero, signs_differ}), r.op("Add", {rest, y}), rest}));
}

// CRD order: the block offsets vary slowest after the channel. Below 28 there is only DCR.
void space_to_depth(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<std::string>("mode", "DCR") == "DCR") {
    n.attributes.erase("mode");
    return r.keep();
  }
  Value x = n.input(0);
  const int64_t b = n.attributes.get_or<int64_t>("blocksize", 1);
  const auto at = [&](int64_t axis) { return r.vector(r.size(x, axis)); };
  Value block = r.i64s({b});
  Value h = r.div(at(2), block), w = r.div(at(3), block);
  Value split = r.reshape(x, r.concat({at(0), at(1), h, block, w, block}, 0), 6);
  Value turned = r.transpose(split, {0, 1, 3, 5, 2, 4});
  Value depth = r.mul(at(1), r.i64s({b * b}));
  r.bind(n.outputs[0], r.reshape(turned, r.concat({at(0), depth, h, w}, 0), 4));
}

// Below 28 only float is listed, which the type pass casts half types to.
void celu_of_doubles(Rewriter& r, ir::Node& n) {
  r.dtype(n.input(0)) == DType::Double ? celu(r, n) : r.keep();
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
