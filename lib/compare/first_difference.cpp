#include "lib/compare/first_difference.h"

#include <cmath>

#include "lib/verify/compare.h"

namespace oe {
namespace {

Fingerprint fingerprint(const Tensor& t) {
  Fingerprint f;
  for (const double v : t.as_double()) {
    if (!std::isfinite(v)) {
      ++f.not_finite;
      continue;
    }
    f.sum += v;
    f.absolute += std::abs(v);
    f.largest = std::max(f.largest, std::abs(v));
  }
  return f;
}

enum class Class { Float, Integer, Bool, Other };
Class class_of(DType t) {
  if (is_float(t)) return Class::Float;
  if (t == DType::Bool) return Class::Bool;
  return t == DType::String || is_complex(t) ? Class::Other : Class::Integer;
}

}  // namespace

void match_by_construction(Side<program::Value>& side,
                           const std::map<const program::Value*, TensorPtr>& other) {
  for (size_t i = 0; i < side.results().size(); ++i) {
    const auto actual = other.find(side.values()[i]);
    if (actual == other.end() || !actual->second) continue;
    Result& expected = side.results()[i];
    const verify::Comparison c = verify::compare(*actual->second, *expected.tensor);
    expected.known = c.ok;
    expected.difference = c.message;
  }
}

bool same_by_value(const Result& a, const Result& b) {
  const Tensor &x = *a.tensor, &y = *b.tensor;
  if (x.numel() != y.numel() || class_of(x.dtype()) != class_of(y.dtype()) ||
      a.print.not_finite != b.print.not_finite)
    return false;
  const verify::Tolerance s = verify::default_tolerance(x.dtype()),
                          t = verify::default_tolerance(y.dtype());
  const double atol = std::max(s.atol, t.atol), rtol = std::max(s.rtol, t.rtol);
  const auto n = static_cast<double>(std::max<int64_t>(x.numel(), 1));
  const auto near = [&](double p, double q) {
    return std::abs(p - q) <= atol * n + rtol * std::max(a.print.absolute, b.print.absolute);
  };
  if (!near(a.print.sum, b.print.sum) || !near(a.print.absolute, b.print.absolute)) return false;
  return x.dims() != y.dims() || verify::largest_difference(x, &y) <=
                                     atol + rtol * std::max(a.print.largest, b.print.largest);
}

void match_by_value(Side<program::Value>& torch, Side<ir::Value>& file) {
  std::map<int64_t, std::vector<Result*>> by_size;
  for (Result& r : file.results()) {
    r.print = fingerprint(*r.tensor);
    by_size[r.tensor->numel()].push_back(&r);
  }
  for (Result& r : torch.results()) {
    r.print = fingerprint(*r.tensor);
    for (Result* other : by_size[r.tensor->numel()]) {
      if ((r.known && other->known) || !same_by_value(r, *other)) continue;
      r.known = other->known = true;
    }
  }
}

}  // namespace oe
