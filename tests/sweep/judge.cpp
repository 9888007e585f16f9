// Whether ONNX Runtime's result is right beside PyTorch's own and the same computed in float64.
#include "tests/sweep/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <vector>

#include "lib/verify/compare.h"

namespace oe::sweep {
namespace {

// The factors of the rule.
constexpr double kOwnErrors = 4, kUnits = 8;

// The distance from 1 to the next number.
double unit_of(DType t) {
  return t == DType::Double    ? 0x1p-52
         : t == DType::Float   ? 0x1p-23
         : t == DType::Float16 ? 0x1p-10
                               : 0x1p-7;
}

// torch.testing.assert_close's defaults.
verify::Tolerance close_to(DType t) {
  switch (t) {
    case DType::Double:
      return {1e-7, 1e-7};
    case DType::Float16:
      return {1e-5, 1e-3};
    case DType::BFloat16:
      return {1e-5, 1.6e-2};
    default:
      return {1e-5, 1.3e-6};
  }
}

std::string text(double v) {
  char buffer[40];
  std::snprintf(buffer, sizeof buffer, "%.9g", v);
  return buffer;
}

double largest_of(DType t) {
  return t == DType::Double    ? std::numeric_limits<double>::max()
         : t == DType::Float16 ? 65504
                               : std::numeric_limits<float>::max();
}

// How far from float64's results the elements may be.
class Allowed {
 public:
  Allowed(const Tensor& expected, const Tensor& exact) : range_(largest_of(expected.dtype())) {
    const double largest = verify::largest_difference(exact, nullptr);
    const double own = verify::largest_difference(expected, &exact);
    const double unit = unit_of(expected.dtype());
    units_ = largest > 0 ? kUnits * std::exp2(std::floor(std::log2(largest))) * unit : 0;
    // By more than half of the type's digits: that is no rounding but something else that float64
    // computes (another bin, a rounded index), which says nothing about the other elements.
    if (own <= std::sqrt(unit) * largest) owns_ = kOwnErrors * own;
  }

  // Of an element that PyTorch has `own` off `exact`. What the type does not reach is nothing to
  // compare with: it stands for the type's own largest number.
  double error(double own, double exact) const {
    if (!std::isfinite(exact) || std::abs(exact) > range_) return -1;
    return std::max(owns_, std::isfinite(own) ? own : 0) + units_;
  }

 private:
  double range_, units_ = 0, owns_ = 0;
};

std::vector<double> allowed_errors(const std::vector<double>& expected,
                                   const std::vector<double>& exact, const Allowed& allowed) {
  std::vector<double> errors;
  for (size_t i = 0; i < exact.size(); ++i)
    errors.push_back(allowed.error(std::abs(expected[i] - exact[i]), exact[i]));
  return errors;
}

std::string float_difference(const Tensor& actual, const Tensor& expected, const Tensor* exact) {
  const std::vector<double> a = actual.as_double(), e = expected.as_double(),
                            z = exact ? exact->as_double() : std::vector<double>();
  const std::vector<double> allowed =
      exact ? allowed_errors(e, z, Allowed(expected, *exact)) : std::vector<double>(a.size(), -1.0);
  const verify::Tolerance close = close_to(expected.dtype());
  size_t wrong = 0, worst = 0;
  double worst_error = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i] || (std::isnan(a[i]) && std::isnan(e[i]))) continue;
    const bool finite = std::isfinite(a[i]);
    const double error = std::abs(a[i] - e[i]);
    if (finite && std::isfinite(e[i]) && error <= close.atol + close.rtol * std::abs(e[i]))
      continue;
    if (finite && allowed[i] >= 0 && std::abs(a[i] - z[i]) <= allowed[i]) continue;
    // At a pole PyTorch divides by what rounding left of 0: two types share no digit there.
    if (exact && std::isinf(a[i]) && a[i] * e[i] > 0 && std::abs(e[i]) > 1e12 &&
        std::abs(e[i] - z[i]) > 0.999 * std::max(std::abs(e[i]), std::abs(z[i])))
      continue;
    // What the type does not reach is infinite in it, whatever PyTorch met on the way.
    if (exact && std::isinf(a[i]) && std::isfinite(z[i]) && a[i] * z[i] > 0 &&
        std::abs(z[i]) > largest_of(expected.dtype()))
      continue;
    ++wrong;
    const double size = std::isfinite(error) ? error : HUGE_VAL;
    if (size > worst_error) worst = i, worst_error = size;
  }
  if (wrong == 0) return {};
  std::string what = std::to_string(wrong) + " of " + std::to_string(a.size()) +
                     " elements, the worst at " + std::to_string(worst) + ": " + text(a[worst]) +
                     ", expected " + text(e[worst]);
  if (exact) what += ", in float64 " + text(z[worst]) + " (allowed " + text(allowed[worst]) + ")";
  return what;
}

}  // namespace

std::string difference(const Tensor& actual, const Tensor& expected, const Tensor* exact) {
  if (actual.dtype() != expected.dtype() || actual.dims() != expected.dims())
    return "is " + verify::type_text(actual) + ", expected " + verify::type_text(expected);
  if (!is_float(expected.dtype())) {
    const verify::Comparison c = verify::compare(actual, expected, {0, 0});
    return c.ok ? std::string() : c.message.empty() ? "it is another" : c.message;
  }
  const bool usable = exact && exact->dtype() == DType::Double && exact->dims() == expected.dims();
  return float_difference(actual, expected, usable ? exact : nullptr);
}

bool equal_in_float(const Tensor& actual, const Tensor& expected) {
  if (actual.dtype() != DType::Double || expected.dtype() != DType::Double) return false;
  const double largest = verify::largest_difference(expected, nullptr);
  return verify::compare(actual, expected, {1e-3 * largest, 0}).ok;
}

}  // namespace oe::sweep
