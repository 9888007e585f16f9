// Interpolation one axis at a time: constant weight matrices, or computed neighbours.
#include "lib/lower/aten/resize_products.h"

#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

T clamp(T x, T low, T high) { return minimum(maximum(x, low), high); }

// Where each output lies on the input axis, as numbers of type t.
T positions(Call& g, const Plane& p, Interpolation kind, bool align_corners, DType t) {
  T in = cast(g.value(p.in), t), out = cast(g.value(p.out), t);
  T at = cast(g.iota(p.out), t), one = g.number(1, t);
  if (align_corners) return at * ((in - one) / maximum(out - one, one));
  T s = p.scale ? g.number(1 / *p.scale, t) : in / out;
  at = (at + 0.5) * s - 0.5;
  return kind == Interpolation::Linear ? maximum(at, 0) : at;
}

// Weight of the neighbour `tap` steps from the floor, `f` being the fraction beyond it.
T tap_weight(Interpolation kind, int64_t tap, T f) {
  T one = number(1, f);
  if (kind == Interpolation::Linear) return tap == 0 ? one - f : f;
  const double a = -0.75;
  T d = tap <= 0 ? f + static_cast<double>(-tap) : static_cast<double>(tap) - f;
  // Horner's scheme of Keys' polynomial on [0, 1] and [1, 2].
  const double inner[] = {a + 2, -(a + 3), 0, 1}, outer[] = {a, -5 * a, 8 * a, -4 * a};
  const double* c = tap == 0 || tap == 1 ? inner : outer;
  T y = number(c[0], f);
  for (int i = 1; i < 4; ++i) y = y * d + c[i];
  return y;
}

}  // namespace

T by_weights(Call& g, T x, const Planes& p, Interpolation kind, bool align_corners) {
  const DType t = x.dtype();
  const int64_t rank = x.rank(), first = rank - static_cast<int64_t>(p.size());
  for (size_t i = 0; i < p.size(); ++i) {
    const int64_t in = *p[i].in.known, out = *p[i].out.known;
    const int64_t axis = first + static_cast<int64_t>(i);
    if (in == out && !p[i].scale) continue;
    T w = g.numbers(weights(kind, in, out, align_corners, p[i].scale), {out, in}, t);
    x = weigh_axis(x, rank, axis, transpose(w, {1, 0}));
  }
  return x;
}

T by_taps(Call& g, T x, const Planes& p, Interpolation kind, bool align_corners) {
  const DType t = compute_type(x.dtype());
  const int64_t rank = x.rank(), first = rank - static_cast<int64_t>(p.size());
  const DType result = x.dtype();
  x = cast(x, t);
  for (size_t i = 0; i < p.size(); ++i) {
    const int64_t axis = first + static_cast<int64_t>(i);
    T at = positions(g, p[i], kind, align_corners, t);
    T base = floor(at), fraction = at - base;
    T last = cast(g.value(p[i].in), t) - 1;
    T sum = nullptr;
    const int64_t reach = kind == Interpolation::Linear ? 0 : 1;
    for (int64_t tap = -reach; tap <= 1 + reach; ++tap) {
      T index = base + static_cast<double>(tap);
      index = cast(clamp(index, g.number(0, t), last), DType::Int64);
      T w = unsqueeze(tap_weight(kind, tap, fraction), range(1, rank - axis));
      T part = gather(x, index, axis) * w;
      sum = sum ? sum + part : part;
    }
    x = sum;
  }
  return cast(x, result);
}

}  // namespace oe::lower
