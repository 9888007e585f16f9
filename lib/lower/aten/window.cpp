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

T hann(Call& g, const Int& n, bool periodic, Rest) { return cosines(g, n, periodic, 0.5, 0.5, 0); }
T hamming(Call& g, const Int& n, bool periodic, double alpha, double beta, Rest) {
  return cosines(g, n, periodic, alpha, beta, 0);
}
T hamming_alpha(Call& g, const Int& n, bool periodic, double alpha, Rest) {
  return cosines(g, n, periodic, alpha, 0.46, 0);
}
T hamming_plain(Call& g, const Int& n, bool periodic, Rest) {
  return cosines(g, n, periodic, 0.54, 0.46, 0);
}
T blackman(Call& g, const Int& n, bool periodic, Rest) {
  return cosines(g, n, periodic, 0.42, 0.5, 0.08);
}

// 1 - |2 p - 1|
T bartlett(Call& g, const Int& n, bool periodic, Rest) {
  const Window w(g, n, periodic);
  return w.finish(g, 1 - abs(w.position * 2 - 1));
}

// The overloads without the argument are periodic.
template <T (*F)(Call&, const Int&, bool, Rest)>
T periodic(Call& g, const Int& n, Rest) {
  return F(g, n, true, {});
}

constexpr Lowering table[] = {
    op<periodic<hann>>(
        "aten::hann_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<hann>(
        "aten::hann_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<periodic<hamming_plain>>(
        "aten::hamming_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<hamming_plain>(
        "aten::hamming_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<hamming_alpha>(
        "aten::hamming_window.periodic_alpha(int window_length, bool periodic, float alpha, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<hamming>(
        "aten::hamming_window.periodic_alpha_beta(int window_length, bool periodic, float alpha, float beta, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<periodic<blackman>>(
        "aten::blackman_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<blackman>(
        "aten::blackman_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<periodic<bartlett>>(
        "aten::bartlett_window(int window_length, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<bartlett>(
        "aten::bartlett_window.periodic(int window_length, bool periodic, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
};

}  // namespace

Table window_rows() { return table; }

}  // namespace oe::lower
