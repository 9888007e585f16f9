// Interpolation one axis at a time: constant weight matrices, or computed neighbours.
#include "lib/lower/aten/resize_products.h"

namespace oe::lower::nn {
namespace {

Value clamp(Emit& g, Value x, Value low, Value high) {
  return g.node("Min", {g.node("Max", {x, low}), high});
}

// Where each output lies on the input axis, as numbers of type t.
Value positions(Emit& g, const Plane& p, Interpolation kind, bool align_corners, DType t) {
  Value in = g.cast(g.to_value(p.in), t), out = g.cast(g.to_value(p.out), t);
  Value at = g.cast(iota(g, p.out), t), one = g.number(1, t);
  if (align_corners)
    return mul(g, at, div(g, sub(g, in, one), g.node("Max", {sub(g, out, one), one})));
  Value s = p.scale ? g.number(1 / *p.scale, t) : div(g, in, out);
  at = sub(g, mul(g, add(g, at, g.number(0.5, t)), s), g.number(0.5, t));
  return kind == Interpolation::Linear ? g.node("Max", {at, g.number(0, t)}) : at;
}

// Weight of the neighbour `tap` steps from the floor, `f` being the fraction beyond it.
Value tap_weight(Emit& g, Interpolation kind, int64_t tap, Value f) {
  Value one = num(g, 1, f);
  if (kind == Interpolation::Linear) return tap == 0 ? sub(g, one, f) : f;
  const double a = -0.75;
  Value d = tap <= 0 ? add(g, f, num(g, static_cast<double>(-tap), f))
                     : sub(g, num(g, static_cast<double>(tap), f), f);
  // Horner's scheme of Keys' polynomial on [0, 1] and [1, 2].
  const double inner[] = {a + 2, -(a + 3), 0, 1}, outer[] = {a, -5 * a, 8 * a, -4 * a};
  const double* c = tap == 0 || tap == 1 ? inner : outer;
  Value y = num(g, c[0], f);
  for (int i = 1; i < 4; ++i) y = add(g, mul(g, y, d), num(g, c[i], f));
  return y;
}

}  // namespace

Value by_weights(Emit& g, Value x, const Planes& p, Interpolation kind, bool align_corners) {
  const DType t = g.dtype(x);
  const int64_t rank = g.rank(x), first = rank - static_cast<int64_t>(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    const int64_t in = *p[i].in.known, out = *p[i].out.known;
    const int64_t axis = first + static_cast<int64_t>(i);
    if (in == out && !p[i].scale) continue;
    Value w = floats(g, t, {out, in}, weights(kind, in, out, align_corners, p[i].scale));
    x = weigh_axis(g, x, rank, axis, transpose(g, w, {1, 0}));
  }
  return x;
}

Value by_taps(Emit& g, Value x, const Planes& p, Interpolation kind, bool align_corners) {
  const DType t = accumulate_type(g.dtype(x));
  const int64_t rank = g.rank(x), first = rank - static_cast<int64_t>(p.size());
  const DType result = g.dtype(x);
  x = g.cast(x, t);
  for (size_t i = 0; i < p.size(); ++i) {
    const int64_t axis = first + static_cast<int64_t>(i);
    Value at = positions(g, p[i], kind, align_corners, t);
    Value base = g.node("Floor", {at}), fraction = sub(g, at, base);
    Value last = sub(g, g.cast(g.to_value(p[i].in), t), g.number(1, t));
    Value sum = nullptr;
    const int64_t reach = kind == Interpolation::Linear ? 0 : 1;
    for (int64_t tap = -reach; tap <= 1 + reach; ++tap) {
      Value index = add(g, base, g.number(static_cast<double>(tap), t));
      index = g.cast(clamp(g, index, g.number(0, t), last), DType::Int64);
      Value w = unsqueeze(g, tap_weight(g, kind, tap, fraction), range(1, rank - axis));
      Value part = mul(g, gather(g, x, index, axis), w);
      sum = sum ? add(g, sum, part) : part;
    }
    x = sum;
  }
  return g.cast(x, result);
}

}  // namespace oe::lower::nn
