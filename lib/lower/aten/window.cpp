// Window functions of a length that may be computed. ONNX's HannWindow, HammingWindow and
// BlackmanWindow differ where the length is 1, and HammingWindow in its coefficients (25 / 46).
#include <numbers>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Position in [0, 1] of every entry; a periodic window is one entry of a longer symmetric one.
struct Window {
  T position;  // [length] double
  T single;    // 0-d bool: the length is 1, where every window is 1

  Window(Call& g, const Int& length, bool periodic) {
    T i = cast(g.iota(length), DType::Double);
    const Int steps = max(periodic ? length : length - known(1), known(1));
    position = i / cast(g.value(steps), DType::Double);
    single = equal(g.value(length), 1);
  }
  T finish(Call& g, T w) const { return cast(where(single, 1, w), g.result_dtype()); }
};

// a0 - a1 cos(2 pi p) + a2 cos(4 pi p)
T cosines(Call& g, const Int& length, bool periodic, double a0, double a1, double a2) {
  const Window w(g, length, periodic);
  const auto wave = [&](double turns, double factor) {
    return unary("Cos", w.position * (2 * std::numbers::pi * turns)) * factor;
  };
  T y = a0 - wave(1, a1);
  if (a2 != 0) y = y + wave(2, a2);
  return w.finish(g, y);
}

T hann(Call& g, const Int& n, bool periodic) { return cosines(g, n, periodic, 0.5, 0.5, 0); }
T hamming(Call& g, const Int& n, bool periodic, double alpha = 0.54, double beta = 0.46) {
  return cosines(g, n, periodic, alpha, beta, 0);
}
T blackman(Call& g, const Int& n, bool periodic) {
  return cosines(g, n, periodic, 0.42, 0.5, 0.08);
}

// 1 - |2 p - 1|
T bartlett(Call& g, const Int& n, bool periodic) {
  const Window w(g, n, periodic);
  return w.finish(g, 1 - abs(w.position * 2 - 1));
}

constexpr Lowering table[] = {
    op("aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, Skip, Skip, Skip, Skip) { return hann(g, n, true); }),
    op("aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, Skip, Skip, Skip, Skip) { return hann(g, n, p); }),
    op("aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, Skip, Skip, Skip, Skip) { return hamming(g, n, true); }),
    op("aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, Skip, Skip, Skip, Skip) { return hamming(g, n, p); }),
    op("aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, double alpha, Skip, Skip, Skip, Skip) {
         return hamming(g, n, p, alpha);
       }),
    op("aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, double alpha, double beta, Skip, Skip, Skip, Skip) {
         return hamming(g, n, p, alpha, beta);
       }),
    op("aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, Skip, Skip, Skip, Skip) { return blackman(g, n, true); }),
    op("aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, Skip, Skip, Skip, Skip) { return blackman(g, n, p); }),
    op("aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, Skip, Skip, Skip, Skip) { return bartlett(g, n, true); }),
    op("aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Int n, bool p, Skip, Skip, Skip, Skip) { return bartlett(g, n, p); }),
};

}  // namespace

Table window_rows() { return table; }

}  // namespace oe::lower
