// Fourier transforms. LibTorch's are three: between complex numbers, from real ones and to them.
#include <cmath>

#include "lib/lower/complex/complex.h"

namespace oe::lower {
namespace {

// at::native::fft_norm_mode
enum Scaling : int64_t { kNone, kByRoot, kByCount };

T scaled(T x, double factor) { return factor == 1 ? x : x * factor; }

// x times what the transform of `count` elements lacks. ONNX's inverse divides by their number.
C normalised(const C& x, const Int& count, int64_t scaling, bool inverse) {
  const double power = (scaling == kNone ? 0 : scaling == kByRoot ? -0.5 : -1) + (inverse ? 1 : 0);
  if (power == 0) return x;
  if (count.known) {
    const double factor = std::pow(static_cast<double>(*count.known), power);
    return {scaled(x.re, factor), x.im ? scaled(x.im, factor) : T()};
  }
  T n = cast(count.computed, x.re.dtype());
  T factor = power == 1     ? n
             : power == -1  ? reciprocal(n)
             : power == 0.5 ? sqrt(n)
                            : reciprocal(sqrt(n));
  return x * factor;
}

// One axis of pairs, or of real numbers with a last axis of 1. The first axis is ONNX's batch.
T dft(T x, int64_t axis, bool inverse, bool onesided) {
  const bool alone = x.rank() == 2;
  if (alone) x = unsqueeze(x, {0});
  ir::Attributes attributes;
  if (inverse) attributes.set("inverse", int64_t{1});
  if (onesided) attributes.set("onesided", int64_t{1});
  T y = node("DFT", {x, nullptr, x.builder().i64(axis + alone)}, attributes);
  y = with_rank(y, x.rank());
  return alone ? squeeze(y, {0}) : y;
}

C c2c(const C& a, const Axes& dims, bool inverse) {
  T x = packed(a);
  for (int64_t dim : dims) x = dft(x, dim, inverse, false);
  return unpacked(x);
}

Int count(T x, const Axes& dims) {
  Dims sizes;
  for (int64_t dim : dims) sizes.push_back(size_of(x, dim));
  return product(sizes);
}

C fft_c2c(C a, const Axes& dims, int64_t scaling, bool forward) {
  return normalised(c2c(a, dims, !forward), count(a.re, dims), scaling, !forward);
}

C fft_r2c(T x, Axes dims, int64_t scaling, bool onesided) {
  const Int n = count(x, dims);
  T pairs = dft(unsqueeze(x, {x.rank()}), dims.back(), false, onesided);
  dims.pop_back();
  return normalised(c2c(unpacked(pairs), dims, false), n, scaling, false);
}

// The other half of the last axis is the conjugate of this one, in reverse; of the halves' ends,
// which are their own conjugates, only the real part counts.
T fft_c2r(C a, Axes dims, int64_t scaling, const Int& size) {
  const int64_t last = dims.back();
  dims.pop_back();
  a = c2c({a.re, imaginary(a)}, dims, true);
  const Int half = floor_div(size - 1, 2);  // entries that have a conjugate
  const auto whole = [&](T x, bool negated) {
    T mirrored = reverse(slice(x, last, known(1), half + 1), last);
    return concat({x, negated ? -mirrored : mirrored}, last);
  };
  const T re = whole(a.re, false), im = whole(a.im, true);
  const C y = unpacked(dft(packed({re, im}), last, true, false));
  Dims sizes = {size};
  for (int64_t dim : dims) sizes.push_back(size_of(a.re, dim));
  return normalised({y.re, nullptr}, product(sizes), scaling, true).re;
}

constexpr Lowering table[] = {
    op<fft_c2c>(
        "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor"),
    op<fft_r2c>(
        "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor"),
    op<fft_c2r>(
        "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor"),
};

}  // namespace

Table complex_fourier_rows() { return table; }

}  // namespace oe::lower
