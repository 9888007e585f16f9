// Inputs that drawn values never are.
#include "lib/verify/special_values.h"

#include <algorithm>
#include <limits>

namespace oe::verify {
namespace {

using Kind = Variation::Kind;

constexpr SpecialValues kAll[] = {
    {"zeros", {Kind::Fill, 0}, {Kind::Fill, 0}},
    {"negatives", {Kind::Negative}},
    {"large", {Kind::Scale, 1e3}},
    {"NaN", {Kind::Place, std::numeric_limits<double>::quiet_NaN()}},
    {"infinity", {Kind::Place, std::numeric_limits<double>::infinity()}}};

}  // namespace

constexpr std::span<const SpecialValues> kSpecialValues = kAll;

bool as_far_apart(const Request& r, const std::vector<HostValue>& actual,
                  const std::vector<HostValue>& expected, const std::vector<HostValue>& near,
                  const std::vector<HostValue>& nearer) {
  bool any = false;
  for (size_t i = 0; i < std::min(actual.size(), expected.size()); ++i) {
    const Tensor *a = actual[i].tensor.get(), *e = expected[i].tensor.get(),
                 *x = near[i].tensor.get(), *y = nearer[i].tensor.get();
    if (!a || !e || !x || !y || a->dtype() != e->dtype() || !is_float(e->dtype())) return false;
    if (compare(*a, *e, tolerance_of(r, r.output_names[i])).ok) continue;
    if (largest_difference(*a, e) > 2 * largest_difference(*x, y)) return false;
    any = true;
  }
  return any;
}

bool same_at_scale(const Request& r, const std::vector<HostValue>& actual,
                   const std::vector<HostValue>& expected) {
  if (actual.size() != expected.size()) return false;
  for (size_t i = 0; i < actual.size(); ++i) {
    const Tensor *a = actual[i].tensor.get(), *e = expected[i].tensor.get();
    if (!a || !e || a->dtype() != e->dtype() || a->dims() != e->dims()) return false;
    Tolerance t = tolerance_of(r, r.output_names[i]);
    const Tolerance standard = default_tolerance(e->dtype());
    const double scale = largest_difference(*e, nullptr);
    t.atol = (t.atol < 0 ? standard.atol : t.atol) + (t.rtol < 0 ? standard.rtol : t.rtol) * scale;
    if (!compare(*a, *e, t).ok) return false;
  }
  return true;
}

}  // namespace oe::verify
