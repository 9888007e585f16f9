// Random results: their means and mean squares over several runs.
#include "lib/verify/moments.h"

#include <cmath>
#include <cstdio>

namespace oe::verify {
namespace {

constexpr double kErrors = 8;

// Empty where the averages of the two series agree.
std::string compare_averages(const char* what, const std::vector<double>& actual,
                             const std::vector<double>& expected) {
  const auto n = static_cast<double>(actual.size());
  double a = 0, e = 0, scatter = 0;
  for (size_t i = 0; i < actual.size(); ++i) {
    a += actual[i] / n;
    e += expected[i] / n;
  }
  for (size_t i = 0; i < actual.size(); ++i) {
    const double d = (actual[i] - expected[i]) - (a - e);
    scatter += d * d / (n - 1);
  }
  const double tolerance =
      kErrors * std::sqrt(scatter / n) + 1e-5 + 1e-4 * std::max(std::abs(a), std::abs(e));
  if (!std::isfinite(a) || !std::isfinite(e) || std::abs(a - e) <= tolerance) return {};
  char text[160];
  std::snprintf(text, sizeof text, "its %s over %zu runs is %.4g, LibTorch's is %.4g", what,
                actual.size(), a, e);
  return text;
}

}  // namespace

Moments::Means Moments::means(const Tensor& t) {
  Means m;
  double n = 0;
  for (const double x : t.as_double()) {
    if (!std::isfinite(x)) continue;
    m.first += x;
    m.second += x * x;
    ++n;
  }
  return n > 0 ? Means{m.first / n, m.second / n} : Means{};
}

void Moments::add(const Tensor& actual, const Tensor& expected) {
  if (is_complex(actual.dtype()) || actual.dtype() == DType::String) return;
  actual_.push_back(means(actual));
  expected_.push_back(means(expected));
}

std::string Moments::difference() const {
  if (actual_.size() < kEnough) return {};
  std::vector<double> first[2], second[2];
  for (size_t i = 0; i < actual_.size(); ++i) {
    first[0].push_back(actual_[i].first);
    first[1].push_back(expected_[i].first);
    second[0].push_back(actual_[i].second);
    second[1].push_back(expected_[i].second);
  }
  const std::string mean = compare_averages("mean", first[0], first[1]);
  return mean.empty() ? compare_averages("mean square", second[0], second[1]) : mean;
}

}  // namespace oe::verify
