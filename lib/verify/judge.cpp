// Whether an output of one run is right.
#include "lib/verify/judge.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "lib/support/text.h"

namespace oe::verify {
namespace {

std::vector<TensorPtr> tensors_of(const HostValue& v) {
  return v.kind == HostValue::Kind::Tensor ? std::vector<TensorPtr>{v.tensor} : v.sequence;
}

std::string two_digits(double v) {
  char text[32];
  std::snprintf(text, sizeof text, "%.2g", v);
  return text;
}

// How many ways to round LibTorch is asked for where another judge is missing; for what it chooses,
// also with the results of all operators shifted, which add up to more than rounding in a long
// model.
constexpr uint64_t kNudges = 4, kShifts = 2;

}  // namespace

bool Judge::is_drawn(size_t output) const {
  return output < r_.lineage.size() && r_.lineage[output].drawn;
}

// Whether a comparison or an index is on the way to it.
bool Judge::is_decided(size_t output) const {
  return output < r_.lineage.size() && r_.lineage[output].decided;
}

std::string Judge::problem(size_t output, const std::string& where, const HostValue& actual,
                           const HostValue& expected) {
  const bool rounded = r_.half != DType::Undefined && !is_drawn(output);
  const LargestError error = v_.error;
  std::string what = is_drawn(output) ? form_difference(output, actual, expected)
                     : rounded        ? rounded_difference(output, actual, expected)
                                      : difference(output, actual, expected);
  if (what.empty()) {
    if (output < r_.lineage.size() && r_.lineage[output].quantized)
      for (const TensorPtr& t : tensors_of(expected)) v_.quantized += t->numel();
    return {};
  }
  if (is_open(output)) {
    v_.error = error;
    return {};
  }
  noise_.clear();
  const bool explained =
      !rounded && !is_drawn(output) &&
      (is_quantization(output, actual, expected) || is_rounding(output, actual, expected) ||
       is_optimization(output, actual, expected));
  if (explained && noise_.empty()) return {};
  what = "output '" + r_.output_names[output] + "' differs from LibTorch's" + where + ": " + what;
  std::string why = explained ? "it cannot be decided: " + noise_ : std::string();
  if (why.empty() && !rounded && !is_drawn(output) && inputs_)
    why = r_.original->undecided(*inputs_);
  if (why.empty() && rounded && is_decided(output) && byte_size(r_.lineage[output].coarsest) == 2)
    why = "it depends on a comparison or an index of numbers that are rounded to " +
          std::string(name(r_.half));
  else if (why.empty() && !rounded && !is_drawn(output) && is_choice(output, actual, expected))
    why =
        "it depends on a comparison or an index, and LibTorch itself computes another one if "
        "weights, inputs or results change by some units in the last place";
  if (why.empty()) return what;
  v_.error = error;
  if (open_.insert(output).second) v_.gaps.push_back(what + " (" + why + ")");
  return {};
}

// Beside a run of LibTorch in float64.
void Judge::measure_errors(const std::vector<HostValue>& actual, const HostRun& expected) {
  std::vector<HostValue> exact;
  try {
    exact = r_.original->last_in(DType::Double);
  } catch (const std::runtime_error&) {
    return;  // the model itself asks for other types
  }
  for (size_t i = 0; i < std::min({actual.size(), expected.outputs.size(), exact.size()}); ++i) {
    const Tensor *e = expected.outputs[i].tensor.get(), *z = exact[i].tensor.get(),
                 *a = actual[i].tensor.get();
    if (!e || !z || !a || is_drawn(i) || !is_float(e->dtype()) || e->dims() != z->dims()) continue;
    auto at = std::ranges::find(v_.errors, r_.output_names[i], &OutputErrors::name);
    if (at == v_.errors.end())
      at = v_.errors.insert(at,
                            {r_.output_names[i], type_text(*e), 0, 0, 0, 0, unit_of(e->dtype())});
    at->largest = std::max(at->largest, largest_difference(*e, nullptr));
    at->between = std::max(at->between, largest_difference(*a, e));
    at->of_libtorch = std::max(at->of_libtorch, largest_difference(*e, z));
    at->of_onnx_runtime = std::max(at->of_onnx_runtime, largest_difference(*a, z));
  }
}

void Judge::note_error(size_t output, double error, const Tensor& expected) {
  v_.error.add(error, expected);
  if (output >= v_.outputs.size()) return;
  OutputFigures& f = v_.outputs[output];
  LargestError own{f.largest_error, f.among};
  own.add(error, expected);
  f.largest_error = own.absolute;
  f.among = own.among;
}

// What is the same of two random results: an axis of unknown size may be random too.
std::string Judge::form_difference(size_t output, const HostValue& actual,
                                   const HostValue& expected) {
  if (actual.kind != expected.kind) return kind_difference(actual, expected);
  if (expected.kind != HostValue::Kind::Tensor) return {};
  const Tensor &a = *actual.tensor, &e = *expected.tensor;
  if (a.dtype() != e.dtype())
    return "element type is " + std::string(name(a.dtype())) + ", expected " +
           std::string(name(e.dtype()));
  bool same = a.dims().size() == e.dims().size();
  const Shape& stated = r_.shapes[output];
  for (size_t d = 0; same && d < a.dims().size(); ++d)
    same = a.dims()[d] == e.dims()[d] || !stated || (*stated)[d].kind == Dim::Kind::Unknown;
  return same ? std::string() : "it has another shape";
}

// An output of a model whose arithmetic was rounded, beside the same in float64 (in LibTorch's
// own types where the model asks for these, which are exact enough). What is too far off may
// still be no further than LibTorch in the same 16 bits.
std::string Judge::rounded_difference(size_t output, const HostValue& actual,
                                      const HostValue& expected) {
  const std::vector<TensorPtr> a = tensors_of(actual), own = tensors_of(expected);
  const std::vector<TensorPtr> exact = again_in(DType::Double, output, own);
  const Tolerance given = tolerance_of(r_, r_.output_names[output]);
  std::string what = kind_difference(actual, expected);
  if (what.empty() && a.size() != own.size()) what = "it has another length";
  double scaled = 0;
  for (size_t i = 0; what.empty() && i < own.size(); ++i) {
    if (a[i]->dtype() != own[i]->dtype() || !is_float(a[i]->dtype())) {
      what = difference(output, *a[i], *own[i]);
      continue;
    }
    const bool same = exact[i]->dims() == own[i]->dims() && is_float(exact[i]->dtype());
    Comparison c = compare_rounded(*a[i], same ? *exact[i] : *own[i], r_.half, given);
    // Some models compute something else in another type.
    if (const Comparison in_own = compare_rounded(*a[i], *own[i], r_.half, given);
        in_own.ok && !c.ok)
      c = in_own;
    note_error(output, c.max_abs, *own[i]);
    scaled = std::max(scaled, c.max_rel);
    if (!c.ok) what = c.message;
  }
  if (what.empty()) {
    v_.max_scaled = std::max(v_.max_scaled, scaled);
    return {};
  }
  if (given.atol < 0 && given.rtol < 0 && exact.size() == own.size() && a.size() == own.size()) {
    const std::vector<TensorPtr> half = again_in(r_.half, output, {});
    bool near = half.size() == own.size();
    for (size_t i = 0; near && i < own.size(); ++i)
      near = as_exact_as(*a[i], *half[i], *exact[i], r_.half).value_or(false);
    v_.judged += near;
    if (near) return {};
  }
  return what;
}

// The output of the last run in another type of float; where it cannot be had, `otherwise`.
std::vector<TensorPtr> Judge::again_in(DType type, size_t output,
                                       std::vector<TensorPtr> otherwise) {
  try {
    const auto [at, fresh] = again_.try_emplace(type);
    if (fresh) at->second = r_.original->last_in(type);
    const std::vector<HostValue>& all = at->second;
    if (output >= all.size()) return otherwise;
    std::vector<TensorPtr> again = tensors_of(all[output]);
    return otherwise.empty() || again.size() == otherwise.size() ? again : otherwise;
  } catch (const std::runtime_error&) {
    return otherwise;
  }
}

// The output of the last run as LibTorch gives it where it rounds otherwise (Original has how);
// empty where that cannot be had.
std::vector<TensorPtr> Judge::rounded_otherwise(uint64_t nudged, size_t output) {
  while (otherwise_.size() <= nudged) {
    otherwise_.emplace_back();
    try {
      otherwise_.back() = r_.original->last_rounded_otherwise(otherwise_.size() - 1);
    } catch (const std::runtime_error&) {
      // Other kernels refuse what some take.
    }
  }
  const std::vector<HostValue>& all = otherwise_[nudged];
  return output < all.size() ? tensors_of(all[output]) : std::vector<TensorPtr>{};
}

// Whether rounding alone has LibTorch choose otherwise, about as far off as ONNX Runtime is.
bool Judge::is_choice(size_t output, const HostValue& actual, const HostValue& expected) {
  const Tolerance given = tolerance_of(r_, r_.output_names[output]);
  if (!is_decided(output) || given.atol >= 0 || given.rtol >= 0 || actual.kind != expected.kind)
    return false;
  const std::vector<TensorPtr> a = tensors_of(actual), e = tensors_of(expected);
  for (uint64_t nudged = 0; nudged < kNudges + kShifts; ++nudged) {
    const std::vector<TensorPtr> other = rounded_otherwise(nudged, output);
    if (!other.empty() && chooses_otherwise(a, e, other)) return true;
  }
  return false;
}

std::string Judge::difference(size_t output, const HostValue& actual, const HostValue& expected) {
  return value_difference(
      actual, expected, [&](const Tensor& a, const Tensor& e) { return difference(output, a, e); });
}

std::string Judge::difference(size_t output, const Tensor& actual, const Tensor& expected) {
  const Comparison c = compare(actual, expected, tolerance_of(r_, r_.output_names[output]));
  note_error(output, c.max_abs, expected);
  return c.ok ? std::string() : c.message.empty() ? "it is another" : c.message;
}

// Results that cancel, or come from computed coordinates, differ by more than the tolerance
// between any two ways to compute them in float32. A run in float64 tells that from a mistake;
// who gave a tolerance has that one.
bool Judge::is_rounding(size_t output, const HostValue& actual, const HostValue& expected) {
  const Tolerance given = tolerance_of(r_, r_.output_names[output]);
  if (given.atol >= 0 || given.rtol >= 0) return false;
  const DType coarsest =
      output < r_.lineage.size() ? r_.lineage[output].coarsest : DType::Undefined;
  const std::vector<TensorPtr> a = tensors_of(actual), e = tensors_of(expected);
  if (actual.kind != expected.kind || a.size() != e.size()) return false;
  // LibTorch's own result is in float64 where the output is, whatever ONNX Runtime computed in.
  const bool wide =
      std::ranges::all_of(e, [](const TensorPtr& t) { return t->dtype() == DType::Double; });
  const std::vector<TensorPtr> exact = wide ? e : again_in(DType::Double, output, {});
  bool same = true;
  for (size_t i = 0; same && i < e.size(); ++i) {
    if (compare(*a[i], *e[i], given).ok) continue;
    std::optional<bool> judged;
    if (exact.size() == e.size()) judged = as_exact_as(*a[i], *e[i], *exact[i], coarsest);
    if (!judged) judged = within_rounding(*a[i], *e[i], nullptr, coarsest);
    for (uint64_t nudged = 0; !*judged && nudged < kNudges; ++nudged) {
      const std::vector<TensorPtr> other = rounded_otherwise(nudged, output);
      judged = i < other.size() && within_rounding(*a[i], *e[i], other[i].get(), coarsest);
    }
    same = *judged;
    if (!same) break;
    const double off = largest_difference(*a[i], e[i].get()), most = noise_ceiling(*e[i], coarsest);
    if (off > most)
      noise_ = "LibTorch's own results with other rounding differ as much, and " + two_digits(off) +
               " exceeds the limit for rounding (" + two_digits(most) +
               ", a hundredth of the typical element)";
  }
  v_.judged += same && noise_.empty();
  return same;
}

// ONNX Runtime's optimisations round too: convolutions in blocks of channels, which static shapes
// get, were eight times as far off as the graph as it is written (RAFT). Where that is right, a
// result no further from it than the tolerance at the tensor's scale is the same.
bool Judge::is_optimization(size_t output, const HostValue& actual, const HostValue& expected) {
  const auto of_floats = [](const TensorPtr& t) { return is_float(t->dtype()); };
  const std::vector<TensorPtr> a = tensors_of(actual);
  if (!std::ranges::all_of(a, of_floats)) return false;
  if (!plain_) {
    plain_.emplace();
    try {
      plain_ = unoptimized_();
    } catch (const std::runtime_error&) {
      // A kernel may be missing.
    }
  }
  if (plain_->empty()) return false;
  const HostValue& other = plain_->at(output);
  const std::vector<TensorPtr> plain = tensors_of(other);
  if (!is_rounding(output, other, expected) || a.size() != plain.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const Tolerance t = default_tolerance(a[i]->dtype());
    const double near = t.atol + t.rtol * largest_difference(*plain[i], nullptr);
    if (!compare(*a[i], *plain[i], {near, 0}).ok) return false;
  }
  return true;
}

// Numbers that lie between two integers are rounded to either by kernels that add up in another
// order, and what comes behind sees a whole step. So an element is right where it is at most one
// step from LibTorch's own, or from what LibTorch gives with its other kernels; and an output where
// it is as near to LibTorch's as that is: at most twice as far on average and at most.
bool Judge::is_within_steps(const Tensor& a, const Tensor& e, const Tensor* other, double step) {
  const std::vector<double> x = a.as_double(), y = e.as_double();
  const std::vector<double> z = other ? other->as_double() : std::vector<double>{};
  double most = 0, others_most = 0, sum = 0, others_sum = 0;
  bool near = true, near_other = other != nullptr;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = std::fabs(x[i] - y[i]);
    if (!(d < INFINITY) && x[i] != y[i]) return false;
    most = std::max(most, d);
    sum += d;
    v_.stepped += d > step / 2;
    near = near && d <= step * 1.001;
    if (!other) continue;
    others_most = std::max(others_most, std::fabs(z[i] - y[i]));
    others_sum += std::fabs(z[i] - y[i]);
    near_other = near_other && std::fabs(x[i] - z[i]) <= step * 1.001;
  }
  v_.quantized += x.size();
  v_.max_steps = std::max(v_.max_steps, most / step);
  const auto count = static_cast<double>(x.size());
  return near || near_other ||
         (other && most <= 2 * others_most + step && sum <= 2 * others_sum + step * count / 100);
}

// An output of integers, or of numbers that come from some. Where the size of the steps is not
// known they are those of 8 bits over the output's range.
bool Judge::is_quantization(size_t output, const HostValue& actual, const HostValue& expected) {
  const Tolerance given = tolerance_of(r_, r_.output_names[output]);
  if (output >= r_.lineage.size() || !r_.lineage[output].quantized || given.atol >= 0 ||
      given.rtol >= 0)
    return false;
  const std::vector<TensorPtr> a = tensors_of(actual), e = tensors_of(expected);
  if (actual.kind != expected.kind || a.size() != e.size()) return false;
  std::vector<TensorPtr> other;
  try {
    const std::vector<HostValue> all = r_.original->last_by_qnnpack();
    if (output < all.size()) other = tensors_of(all[output]);
  } catch (const std::runtime_error&) {
    // One step from LibTorch's own, then.
  }
  for (size_t i = 0; i < e.size(); ++i) {
    if (a[i]->dtype() != e[i]->dtype() || a[i]->dims() != e[i]->dims()) return false;
    const Tensor* z =
        i < other.size() && other[i]->dims() == e[i]->dims() ? other[i].get() : nullptr;
    double step = r_.lineage[output].step;
    if (step <= 0 && is_integer(e[i]->dtype())) return false;
    if (step <= 0) step = largest_difference(*e[i], nullptr) / 127;
    if (!(step > 0) || !is_within_steps(*a[i], *e[i], z, step)) return false;
  }
  return true;
}

}  // namespace oe::verify
