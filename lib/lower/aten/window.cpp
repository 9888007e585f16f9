// Window functions of a length that may be computed.
#include <numbers>

#include "lib/lower/aten/shape_build.h"

namespace oe::lower {
namespace {

using namespace shape;

// Position in [0, 1] of every entry; a periodic window is one entry of a longer symmetric one.
struct Window {
  Value position;  // [length] double
  Value single;    // 0-d bool: the length is 1, where every window is 1

  Window(Emit& g, const Int& length, bool periodic) {
    Value i = g.cast(iota(g, length), DType::Double);
    const Int steps = max(g, periodic ? length : sub(g, length, known(1)), known(1));
    position = div(g, i, g.cast(g.to_value(steps), DType::Double));
    single = g.node("Equal", {g.to_value(length), g.i64(1)});
  }
  Value finish(Emit& g, Value w) const {
    return g.cast(where(g, single, g.number(1, DType::Double), w), g.result_dtype());
  }
};

Value number(Emit& g, double v) { return g.number(v, DType::Double); }

// a0 - a1 cos(2 pi p) + a2 cos(4 pi p)
Value cosines(Emit& g, const Int& length, bool periodic, double a0, double a1, double a2) {
  const Window w(g, length, periodic);
  auto wave = [&](double turns, double factor) {
    Value angle = mul(g, w.position, number(g, 2 * std::numbers::pi * turns));
    return mul(g, g.node("Cos", {angle}), number(g, factor));
  };
  Value y = sub(g, number(g, a0), wave(1, a1));
  if (a2 != 0) y = add(g, y, wave(2, a2));
  return w.finish(g, y);
}

Value hann(Emit& g, const Int& n, bool periodic) { return cosines(g, n, periodic, 0.5, 0.5, 0); }
Value hamming(Emit& g, const Int& n, bool periodic, double alpha = 0.54, double beta = 0.46) {
  return cosines(g, n, periodic, alpha, beta, 0);
}
Value blackman(Emit& g, const Int& n, bool periodic) {
  return cosines(g, n, periodic, 0.42, 0.5, 0.08);
}

// 1 - |2 p - 1|
Value bartlett(Emit& g, const Int& n, bool periodic) {
  const Window w(g, n, periodic);
  Value centred = sub(g, mul(g, w.position, number(g, 2)), number(g, 1));
  return w.finish(g, sub(g, number(g, 1), g.node("Abs", {centred})));
}

constexpr Lowering table[] = {
    op("aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, Skip, Skip, Skip, Skip) { return hann(g, n, true); }),
    op("aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, Skip, Skip, Skip, Skip) { return hann(g, n, p); }),
    op("aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, Skip, Skip, Skip, Skip) { return hamming(g, n, true); }),
    op("aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, Skip, Skip, Skip, Skip) { return hamming(g, n, p); }),
    op("aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, double alpha, Skip, Skip, Skip, Skip) {
         return hamming(g, n, p, alpha);
       }),
    op("aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, double alpha, double beta, Skip, Skip, Skip, Skip) {
         return hamming(g, n, p, alpha, beta);
       }),
    op("aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, Skip, Skip, Skip, Skip) { return blackman(g, n, true); }),
    op("aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, Skip, Skip, Skip, Skip) { return blackman(g, n, p); }),
    op("aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, Skip, Skip, Skip, Skip) { return bartlett(g, n, true); }),
    op("aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Int n, bool p, Skip, Skip, Skip, Skip) { return bartlett(g, n, p); }),
};

}  // namespace

Table window_rows() { return table; }

}  // namespace oe::lower
