// DFT as products with matrices of cosines and sines.
#include <cmath>
#include <numbers>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

constexpr double kTurn = 2 * std::numbers::pi;

// Pairs of real and imaginary parts; `im` is null where it is 0.
struct Pair {
  T re, im;
};
Pair plus(const Pair& a, const Pair& b) { return {a.re + b.re, a.im + b.im}; }

Pair times(const Pair& a, const Pair& b, T (*product)(T, T)) {
  const Pair by_re = {product(a.re, b.re), product(a.re, b.im)};
  if (!a.im) return by_re;
  return plus(by_re, {-product(a.im, b.im), product(a.im, b.re)});
}
T multiplied(T a, T b) { return a * b; }

// e^(sign 2 pi i k j / n) for k < rows and j < columns. k * j is taken modulo n while it is exact.
Pair turns(Rewriter& r, int64_t rows, int64_t columns, int64_t n, double sign, DType t) {
  std::vector<double> re, im;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      const double angle = kTurn * static_cast<double>(k * j % n) / static_cast<double>(n);
      re.push_back(std::cos(angle));
      im.push_back(sign * std::sin(angle));
    }
  return {r.numbers(re, {rows, columns}, t), r.numbers(im, {rows, columns}, t)};
}
// The same [n, columns] where n is computed.
Pair turns(Rewriter& r, const Int& n, const Int& columns, double sign, DType t) {
  T k = unsqueeze(r.iota(n), {1}), j = unsqueeze(r.iota(columns), {0});
  T rest = node("Mod", {k * j, r.value(n)});
  T angle = cast(rest, DType::Double) * (sign * kTurn) / cast(r.value(n), DType::Double);
  return {cast(unary("Cos", angle), t), cast(unary("Sin", angle), t)};
}

// The factor of n that is nearest to its root from below; 1 for primes.
int64_t factor(int64_t n) {
  for (auto a = static_cast<int64_t>(std::sqrt(static_cast<double>(n))); a > 1; --a)
    if (n % a == 0) return a;
  return 1;
}

// Along the last axis, of n = a b elements: transforms of a elements, b apart, then of b
// neighbours, with a turn of each element in between (Cooley and Tukey, 1965).
Pair in_two_steps(Rewriter& r, const Pair& x, int64_t a, int64_t n, double sign, DType t) {
  const int64_t b = n / a, rank = x.re.rank();
  const auto split = [&](T v) {
    Ints shape(static_cast<size_t>(rank), 0);
    shape.back() = a;
    shape.push_back(b);
    return v ? reshape(v, shape) : v;
  };
  const auto joined = [&](T v) {
    v = swap(v, rank + 1, rank - 1, rank);
    Dims rest = {known(n)};
    return reshape_to(v, rest, rank - 1);
  };
  const Pair outer = turns(r, a, a, a, sign, t), inner = turns(r, b, b, b, sign, t);
  const Pair table = turns(r, a, b, n, sign, t);
  Pair y = {split(x.re), split(x.im)};
  y = times(y, outer, [](T v, T m) { return matmul(m, v); });
  y = times(y, table, multiplied);
  y = times(y, inner, matmul);
  return {joined(y.re), joined(y.im)};
}

// From here on a matrix is larger than the weights of most layers.
constexpr int64_t kMostInOneStep = 128;

}  // namespace

void dft_as_products(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  if (n.inputs.size() > 1 && n.inputs[1])
    throw Unsupported("needs opset 17 or later where the length is given");
  const int64_t rank = x.rank();
  int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
  if (n.inputs.size() > 2 && n.inputs[2]) {
    const auto at = ints(n.inputs[2]);
    if (!at) throw Unsupported("needs opset 20 or later where the axis is computed");
    axis = at->at(0);
  }
  axis = wrapped(axis, rank);
  const auto parts = x.dim(rank - 1);
  if (!parts) throw Unsupported("needs opset 17 or later where it may be real or complex");
  const bool inverse = n.attributes.get_or<int64_t>("inverse", 0);
  const bool onesided = n.attributes.get_or<int64_t>("onesided", 0);
  const double sign = inverse ? 1 : -1;
  const DType t = x.dtype();
  const Int size = size_of(x, axis), kept = onesided ? floor_div(size, 2) + 1 : size;

  const auto part = [&](int64_t i) { return entry(x, rank - 1, known(i)); };
  const bool turned = axis != rank - 2;
  const auto turn = [&](T v) { return v && turned ? swap(v, rank - 1, axis, rank - 2) : v; };
  Pair z = {turn(part(0)), turn(*parts == 2 ? part(1) : T())};
  const int64_t a = size.known && *size.known > kMostInOneStep ? factor(*size.known) : 1;
  if (a > 1) {
    z = in_two_steps(r, z, a, *size.known, sign, t);
    if (onesided)
      for (T* v : {&z.re, &z.im}) *v = slice(*v, rank - 2, known(0), kept);
  } else if (size.known && *size.known <= kMostInOneStep) {
    z = times(z, turns(r, *size.known, *kept.known, *size.known, sign, t), matmul);
  } else {
    z = times(z, turns(r, size, kept, sign, t), matmul);
  }
  T y = concat({unsqueeze(turn(z.re), {rank - 1}), unsqueeze(turn(z.im), {rank - 1})}, rank - 1);
  r.bind(n.outputs[0], inverse ? y / cast(r.value(size), t) : y);
}

}  // namespace oe::opsets
