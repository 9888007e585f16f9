// Functions of float64 that ONNX Runtime has for float32 only, by those that it has: Exp, Log,
// Sqrt, Sin, Cos and Tanh. All keep to a few units in the last place.
#include <array>
#include <cmath>
#include <numbers>

#include "opsets/expand.h"

namespace oe::opsets {
namespace {

// W. Kahan's correction: log(u) * x / (u - 1) with u = 1 + x; x itself where u is 1.
T log1p(T x) {
  T u = x + 1, d = u - 1, log_u = log(u);
  T corrected = where(x < 1, log_u * (x / d), log_u);
  return where(equal(d, 0), x, corrected);
}

// e^|x| / 2 + e^-|x| / 2; half of the exponent, so that it overflows where the result does.
T cosh(T x) {
  T e = exp(abs(x) * 0.5);
  return e * 0.5 * e + 0.5 / e / e;
}

// The operator of float32, which is right to some digits; what is missing is small.
T first_guess(std::string_view op, T x) {
  return cast(unary(op, cast(x, DType::Float)), DType::Double);
}

// The angle of at most 1e-3 whose sine is `s`.
T small_angle(T s) { return s + s * s * s / 6; }

T atan(T x) {
  // What lies further out has the same angle, and an infinity none below.
  T far = number(1e17, x);
  T near = where(abs(x) < far, x, where(x < 0, -far, far));
  T y = first_guess("Atan", x);
  T sin = unary("Sin", y), cos = unary("Cos", y);
  return y + (near * cos - sin) / (cos + near * sin);
}

// sqrt(1 - x^2)
T other_leg(T x) { return sqrt((1 - x) * (1 + x)); }

T asin(T x) {
  T y = first_guess("Asin", x);
  return y + small_angle(x * unary("Cos", y) - other_leg(x) * unary("Sin", y));
}

T acos(T x) {
  T y = first_guess("Acos", x);
  return y - small_angle(x * unary("Sin", y) - other_leg(x) * unary("Cos", y));
}

T asinh(T x) {
  T a = abs(x);
  T far = a > 1e8;
  T low = where(far, 1, a);
  T y =
      where(far, log(a) + std::numbers::ln2, log1p(low + low * (low / (1 + sqrt(1 + low * low)))));
  y = where(x < 0, -y, y);
  return where(equal(x, 0), x, y);  // 0 has a sign
}

T acosh(T x) {
  T more = x - 1;
  T far = x > 1e8;
  T low = where(far, 1, more);
  return where(far, log(x) + std::numbers::ln2, log1p(low + sqrt(low) * sqrt(low + 2)));
}

T atanh(T x) { return (log1p(x) - log1p(-x)) * 0.5; }

// A sum of weights[i] * term(i) along a last axis of a vector's elements, as a product of matrices.
template <size_t n>
T weighed(T terms, const std::array<double, n>& weights, Builder& g) {
  std::vector<T> parts;
  for (double w : weights) parts.push_back(g.number(w, DType::Double));
  for (T& p : parts) p = reshape(p, Ints{1});
  return reshape(matmul(terms, unsqueeze(concat(parts, 0), {1})), Ints{-1});
}

template <size_t n>
T vector_of(const std::array<double, n>& numbers, Builder& g) {
  std::vector<T> parts;
  for (double v : numbers) parts.push_back(reshape(g.number(v, DType::Double), Ints{1}));
  return concat(parts, 0);
}

// Below 0.7 by Gauss' and Legendre's rule for 2 x / sqrt(pi) times the integral of exp(-(x t)^2)
// from 0 to 1; above from erfc(x) by the trapezoidal rule at the middles of steps of 1/2 for
// https://dlmf.nist.gov/7.7 (1), and what its pole adds.
T erf(T whole, Builder& g) {
  constexpr std::array<double, 8> places = {
      0.01985507175123188, 0.10166676129318663, 0.2372337950418355, 0.4082826787521751,
      0.5917173212478249,  0.7627662049581645,  0.8983332387068134, 0.9801449282487681};
  constexpr std::array<double, 8> shares = {
      0.05061426814518813, 0.1111905172266872,  0.15685332293894363, 0.18134189168918097,
      0.18134189168918097, 0.15685332293894363, 0.1111905172266872,  0.05061426814518813};
  std::array<double, 8> squares{};
  std::array<double, 13> middles{}, falling{};
  for (size_t i = 0; i < squares.size(); ++i) squares[i] = -places[i] * places[i];
  for (size_t i = 0; i < middles.size(); ++i) {
    const double t = 0.5 * static_cast<double>(i) + 0.25;
    middles[i] = t * t;
    falling[i] = std::exp(-t * t);
  }
  T x = flat(whole);
  T a = minimum(abs(x), 6);
  T s = a * a;
  T column = unsqueeze(s, {1});
  T near =
      x * weighed(exp(column * vector_of(squares, g)), shares, g) * (2 * std::numbers::inv_sqrtpi);
  T sum = weighed(1 / (column + vector_of(middles, g)), falling, g);
  T rest = exp(-s) * a * sum * std::numbers::inv_pi + 2 / (exp(a * (4 * std::numbers::pi)) + 1);
  T far = where(x < 0, rest - 1, 1 - rest);
  return restore(where(a < 0.7, near, far), whole);
}

}  // namespace

void function_of_doubles(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  T y = nullptr;
  if (n.op == "Acos") y = acos(x);
  if (n.op == "Acosh") y = acosh(x);
  if (n.op == "Asin") y = asin(x);
  if (n.op == "Asinh") y = asinh(x);
  if (n.op == "Atan") y = atan(x);
  if (n.op == "Atanh") y = atanh(x);
  if (n.op == "Cosh") y = cosh(x);
  if (n.op == "Erf") y = erf(x, r);
  if (n.op == "Sinh") y = tanh(x) * cosh(x);
  if (n.op == "Tan") y = unary("Sin", x) / unary("Cos", x);
  if (!y) throw Unsupported("");
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
