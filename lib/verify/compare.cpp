// Element by element comparison, without converting whole tensors.
#include "lib/verify/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "lib/support/half.h"
#include "lib/support/text.h"

namespace oe::verify {
namespace {

std::string shape_text(const Tensor& t) {
  std::string s = "[";
  for (size_t i = 0; i < t.dims().size(); ++i) s += (i ? "," : "") + std::to_string(t.dims()[i]);
  return s + "]";
}

// Row-major position of a flat index: "[0,3,1]".
std::string position(const Tensor& t, int64_t flat) {
  std::string s;
  for (size_t i = t.dims().size(); i-- > 0;) {
    s = std::to_string(flat % t.dims()[i]) + (s.empty() ? "" : "," + s);
    flat /= t.dims()[i];
  }
  return "[" + s + "]";
}

std::string number(double v) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", v);
  return text;
}

// Counts what is wrong and remembers the first.
struct Tally {
  Comparison result;
  int64_t wrong = 0, first = -1;

  void fail(int64_t index) {
    if (first < 0) first = index;
    ++wrong;
  }
};

template <class Read>
void compare_floats(Tally& tally, int64_t count, const Tolerance& t, const Read& read) {
  for (int64_t i = 0; i < count; ++i) {
    const auto [a, e] = read(i);
    if (!std::isfinite(a) || !std::isfinite(e)) {
      if (!(std::isnan(a) ? std::isnan(e) : a == e)) tally.fail(i);
      continue;
    }
    const double difference = std::abs(a - e);
    tally.result.max_abs = std::max(tally.result.max_abs, difference);
    if (difference > 0 && e != 0)
      tally.result.max_rel = std::max(tally.result.max_rel, difference / std::abs(e));
    if (!(difference <= t.atol + t.rtol * std::abs(e))) tally.fail(i);
  }
}

template <class T>
void compare_exact(Tally& tally, const Tensor& actual, const Tensor& expected) {
  const auto a = actual.values<T>();
  const auto e = expected.values<T>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == e[i]) continue;
    tally.fail(static_cast<int64_t>(i));
    const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(e[i]));
    tally.result.max_abs = std::max(tally.result.max_abs, difference);
    if (e[i] != 0)
      tally.result.max_rel =
          std::max(tally.result.max_rel, difference / std::abs(static_cast<double>(e[i])));
  }
}

// `parts`: how many real numbers one element is.
template <class T, class Convert>
void floats(Tally& tally, const Tensor& a, const Tensor& e, const Tolerance& t, int parts,
            const Convert& convert) {
  const T* x = static_cast<const T*>(a.data());
  const T* y = static_cast<const T*>(e.data());
  compare_floats(tally, a.numel() * parts, t, [&](int64_t i) {
    return std::pair<double, double>(convert(x[i]), convert(y[i]));
  });
  if (tally.first < 0) return;
  const int64_t i = tally.first;
  tally.result.message = "at " + position(a, i / parts) + ": " + number(convert(x[i])) +
                         ", expected " + number(convert(y[i]));
}

template <class T>
void exact(Tally& tally, const Tensor& a, const Tensor& e) {
  compare_exact<T>(tally, a, e);
  if (tally.first < 0) return;
  const size_t i = static_cast<size_t>(tally.first);
  tally.result.message = "at " + position(a, tally.first) + ": " +
                         std::to_string(a.values<T>()[i]) + ", expected " +
                         std::to_string(e.values<T>()[i]);
}

void strings(Tally& tally, const Tensor& a, const Tensor& e) {
  for (size_t i = 0; i < a.strings().size(); ++i)
    if (a.strings()[i] != e.strings()[i]) tally.fail(static_cast<int64_t>(i));
  if (tally.first < 0) return;
  const size_t i = static_cast<size_t>(tally.first);
  tally.result.message = "at " + position(a, tally.first) + ": \"" + a.strings()[i] +
                         "\", expected \"" + e.strings()[i] + "\"";
}

}  // namespace

std::string kind_difference(const HostValue& actual, const HostValue& expected) {
  if (actual.kind == expected.kind) return {};
  const auto text = [](const HostValue& v) {
    return v.kind == HostValue::Kind::Tensor ? "a tensor"
           : v.kind == HostValue::Kind::None ? "None"
                                             : "a sequence";
  };
  return std::string("it is ") + text(actual) + ", expected " + text(expected);
}

std::string value_difference(
    const HostValue& actual, const HostValue& expected,
    const std::function<std::string(const Tensor&, const Tensor&)>& differ) {
  if (actual.kind != expected.kind) return kind_difference(actual, expected);
  if (expected.kind == HostValue::Kind::Tensor) return differ(*actual.tensor, *expected.tensor);
  if (actual.sequence.size() != expected.sequence.size())
    return "it has " + plural(actual.sequence.size(), "element") + ", expected " +
           std::to_string(expected.sequence.size());
  for (size_t i = 0; i < expected.sequence.size(); ++i)
    if (const std::string what = differ(*actual.sequence[i], *expected.sequence[i]); !what.empty())
      return "element " + std::to_string(i) + ": " + what;
  return {};
}

Tolerance default_tolerance(DType t) {
  switch (t) {
    case DType::Float:
    case DType::Complex64:
      return {1e-5, 1e-4};
    case DType::Double:
    case DType::Complex128:
      return {1e-9, 1e-7};
    case DType::Float16:
      return {1e-2, 1e-2};
    case DType::BFloat16:
      return {5e-2, 5e-2};
    default:
      return {0, 0};
  }
}

double unit_of(DType t) {
  return t == DType::Double    ? 0x1p-52
         : t == DType::Float   ? 0x1p-23
         : t == DType::Float16 ? 0x1p-10
                               : 0x1p-7;
}

namespace {

// What is further apart is no rounding.
double rounding_limit(const Tolerance& t, double scale) { return 10 * (t.atol + t.rtol * scale); }

// How many times as far off as LibTorch's own result another may be, as in the sweep. The largest
// errors of two roundings of one model are up to 3.5 times apart (Swin at one window), and a
// mistake is seldom as small.
constexpr double kOwn = 4;

// NaN and infinities, by position.
bool same_special(double a, double e) { return std::isnan(a) ? std::isnan(e) : a == e; }

}  // namespace

std::optional<bool> as_exact_as(const Tensor& actual, const Tensor& expected, const Tensor& exact,
                                DType coarsest) {
  if (!is_float(actual.dtype()) || !is_float(expected.dtype()) || actual.dims() != expected.dims())
    return false;
  if (exact.dtype() != DType::Double || actual.dims() != exact.dims()) return std::nullopt;
  Tolerance t = default_tolerance(actual.dtype());
  if (is_float(coarsest)) {
    const Tolerance inside = default_tolerance(coarsest);
    t = {std::max(t.atol, inside.atol), std::max(t.rtol, inside.rtol)};
  }
  const std::vector<double> a = actual.as_double(), e = expected.as_double(), z = exact.as_double();
  double own = 0, scale = 0;
  for (size_t i = 0; i < z.size(); ++i) {
    if (!std::isfinite(e[i]) || !std::isfinite(z[i])) continue;
    own = std::max(own, std::abs(e[i] - z[i]));
    scale = std::max(scale, std::abs(z[i]));
  }
  if (own > rounding_limit(t, scale)) return std::nullopt;
  for (size_t i = 0; i < z.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(e[i]) && std::isfinite(z[i])) {
      if (std::abs(a[i] - z[i]) > kOwn * own + t.atol + t.rtol * std::abs(z[i])) return false;
    } else if (!same_special(a[i], e[i])) {
      return false;
    }
  }
  return true;
}

namespace {

// The median and the largest of the finite magnitudes that are not 0.
std::pair<double, double> magnitudes(const std::vector<double>& values) {
  std::vector<double> sizes;
  for (double v : values)
    if (std::isfinite(v) && v != 0) sizes.push_back(std::abs(v));
  if (sizes.empty()) return {0, 0};
  std::ranges::sort(sizes);
  return {sizes[sizes.size() / 2], sizes.back()};
}

DType least_exact(DType coarsest, DType own) {
  return is_float(coarsest) && unit_of(coarsest) > unit_of(own) ? coarsest : own;
}

}  // namespace

double noise_ceiling(const Tensor& expected, DType coarsest) {
  const double median = magnitudes(expected.as_double()).first;
  const Tolerance t = default_tolerance(least_exact(coarsest, expected.dtype()));
  return 10 * t.atol + std::max(kMostNoise, t.rtol) * median;
}

bool within_rounding(const Tensor& actual, const Tensor& expected, const Tensor* other,
                     DType coarsest) {
  if (!is_float(actual.dtype()) || actual.dtype() != expected.dtype() ||
      actual.dims() != expected.dims() || actual.numel() == 0)
    return false;
  const std::vector<double> a = actual.as_double(), e = expected.as_double();
  const auto [median, largest] = magnitudes(e);
  constexpr double kHuge = 100, kUnits = 8;
  const double magnitude = std::min(largest, kHuge * median);
  const DType type = least_exact(coarsest, expected.dtype());
  double allowed = kUnits * unit_of(type) * magnitude;
  if (other && other->dtype() == expected.dtype() && other->dims() == expected.dims()) {
    const double own = largest_difference(expected, other);
    if (own <= rounding_limit(default_tolerance(type), magnitude)) allowed += kOwn * own;
  }
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::isfinite(a[i]) && std::isfinite(e[i])) {
      if (std::abs(a[i] - e[i]) > allowed) return false;
    } else if (!same_special(a[i], e[i])) {
      return false;
    }
  }
  return true;
}

bool chooses_otherwise(const std::vector<TensorPtr>& actual, const std::vector<TensorPtr>& expected,
                       const std::vector<TensorPtr>& other) {
  const auto has_nan = [](const TensorPtr& t) {
    return is_float(t->dtype()) &&
           std::ranges::any_of(t->as_double(), [](double v) { return std::isnan(v); });
  };
  const auto same_form = [](const std::vector<TensorPtr>& x, const std::vector<TensorPtr>& y) {
    return std::ranges::equal(x, y, [](const TensorPtr& a, const TensorPtr& b) {
      return a->dtype() == b->dtype() && a->dims() == b->dims();
    });
  };
  if (std::ranges::any_of(actual, has_nan) && std::ranges::none_of(expected, has_nan) &&
      std::ranges::none_of(other, has_nan))
    return false;
  if (!same_form(expected, other)) return true;
  const bool comparable = same_form(expected, actual);
  bool chosen = false;
  for (size_t i = 0; i < expected.size(); ++i) {
    const Tensor& e = *expected[i];
    if (!is_float(e.dtype()) && !is_integer(e.dtype()) && e.dtype() != DType::Bool) continue;
    const double own = largest_difference(e, other[i].get());
    const Tolerance t = default_tolerance(e.dtype());
    chosen = chosen || own > rounding_limit(t, largest_difference(e, nullptr));
    if (comparable && is_float(e.dtype()) && largest_difference(*actual[i], &e) > kOwn * own)
      return false;
  }
  return chosen;
}

double rounding_epsilon(DType half) { return std::ldexp(1.0, half == DType::Float16 ? -11 : -8); }

Comparison compare_rounded(const Tensor& actual, const Tensor& exact, DType half, Tolerance given) {
  Tally tally;
  if (actual.dims() != exact.dims()) {
    tally.result.message = "shape is " + shape_text(actual) + ", expected " + shape_text(exact);
    return tally.result;
  }
  const std::vector<double> a = actual.as_double();
  std::vector<double> e = exact.as_double();
  double scale = 0;
  for (double& v : e) {
    if (actual.dtype() == DType::Float16 && std::isfinite(v) && std::abs(v) >= 65520)
      v = std::copysign(std::numeric_limits<double>::infinity(), v);
    if (std::isfinite(v)) scale = std::max(scale, std::abs(v));
  }
  Tolerance t{kRoundingSteps * rounding_epsilon(half) * scale, 0};
  if (given.atol >= 0 || given.rtol >= 0)
    t = {std::max(given.atol, 0.0), std::max(given.rtol, 0.0)};
  compare_floats(tally, actual.numel(), t, [&](int64_t i) {
    return std::pair(a[static_cast<size_t>(i)], e[static_cast<size_t>(i)]);
  });
  tally.result.ok = tally.wrong == 0;
  tally.result.max_rel = scale > 0 ? tally.result.max_abs / scale : 0;
  if (tally.wrong > 0) {
    const auto i = static_cast<size_t>(tally.first);
    tally.result.message =
        "at " + position(actual, tally.first) + ": " + number(a[i]) + ", expected " + number(e[i]) +
        (std::isfinite(e[i]) ? " give or take " + number(t.atol + t.rtol * std::abs(e[i]))
                             : std::string());
  }
  return tally.result;
}

double largest_difference(const Tensor& a, const Tensor* b) {
  if (b && a.dims() != b->dims()) return std::numeric_limits<double>::infinity();
  const std::vector<double> x = a.as_double(), y = b ? b->as_double() : std::vector<double>();
  double largest = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    const double other = b ? y[i] : 0;
    if (std::isfinite(x[i]) && std::isfinite(other))
      largest = std::max(largest, std::abs(x[i] - other));
  }
  return largest;
}

std::string type_text(const Tensor& t) { return std::string(name(t.dtype())) + shape_text(t); }

Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance t) {
  Tally tally;
  if (actual.dtype() != expected.dtype()) {
    tally.result.message = "element type is " + std::string(name(actual.dtype())) + ", expected " +
                           std::string(name(expected.dtype()));
    return tally.result;
  }
  if (actual.dims() != expected.dims()) {
    tally.result.message = "shape is " + shape_text(actual) + ", expected " + shape_text(expected);
    return tally.result;
  }
  const Tolerance standard = default_tolerance(actual.dtype());
  if (t.atol < 0) t.atol = standard.atol;
  if (t.rtol < 0) t.rtol = standard.rtol;

  const auto same = [](auto v) { return static_cast<double>(v); };
  switch (actual.dtype()) {
    case DType::Float:
      floats<float>(tally, actual, expected, t, 1, same);
      break;
    case DType::Double:
      floats<double>(tally, actual, expected, t, 1, same);
      break;
    case DType::Complex64:
      floats<float>(tally, actual, expected, t, 2, same);
      break;
    case DType::Complex128:
      floats<double>(tally, actual, expected, t, 2, same);
      break;
    case DType::Float16:
      floats<uint16_t>(tally, actual, expected, t, 1, half_value);
      break;
    case DType::BFloat16:
      floats<uint16_t>(tally, actual, expected, t, 1, bfloat16_value);
      break;
    case DType::Int8:
      exact<int8_t>(tally, actual, expected);
      break;
    case DType::Int16:
      exact<int16_t>(tally, actual, expected);
      break;
    case DType::Int32:
      exact<int32_t>(tally, actual, expected);
      break;
    case DType::Int64:
      exact<int64_t>(tally, actual, expected);
      break;
    case DType::UInt16:
      exact<uint16_t>(tally, actual, expected);
      break;
    case DType::UInt32:
      exact<uint32_t>(tally, actual, expected);
      break;
    case DType::UInt64:
      exact<uint64_t>(tally, actual, expected);
      break;
    case DType::String:
      strings(tally, actual, expected);
      break;
    default:
      exact<uint8_t>(tally, actual, expected);
      break;  // bool, uint8, float8 bit for bit
  }
  tally.result.ok = tally.wrong == 0;
  if (tally.wrong > 1)
    tally.result.message +=
        " (" + std::to_string(tally.wrong) + " of " + std::to_string(actual.numel()) + " differ)";
  return tally.result;
}

}  // namespace oe::verify
