// Numeric comparison of ONNX Runtime's outputs with LibTorch's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "lib/support/host_value.h"

namespace oe::verify {

// An element is right when |actual - expected| <= atol + rtol * |expected|.
struct Tolerance {
  double atol =
      -1;  // absolute; negative: by element type (float 1e-5, half 1e-2, double 1e-9, ...)
  double rtol =
      -1;  // relative to |expected|; negative: by element type (float 1e-4, half 1e-2, ...)
};
Tolerance default_tolerance(DType t);
struct Comparison {
  bool ok = false;
  double max_abs = 0;   // largest |actual - expected| over finite elements
  double max_rel = 0;   // largest |actual - expected| / |expected|; rounded: max_abs / the scale
  std::string message;  // what differs: dtype, shape, first wrong index with both values
};
// The first difference of two values: their kind, the length of a sequence, or the text of `differ`
// for two tensors (empty: none). Empty if they agree.
std::string value_difference(
    const HostValue& actual, const HostValue& expected,
    const std::function<std::string(const Tensor& actual, const Tensor& expected)>& differ);
// A difference in kind; empty if both have the same kind.
std::string kind_difference(const HostValue& actual, const HostValue& expected);
// Whether `actual` is as close to the result in float64 as LibTorch's own `expected` (within four
// times its largest error and the tolerance). Nothing if `exact` cannot decide: it has another
// shape, or `expected` differs from it by more than rounding (ten times the tolerance at the
// tensor's scale), so the model chose other elements in float64 (such as boxes). `exact` is Double,
// the others a float type. `coarsest`: the least exact float type that the model computes in; its
// tolerance applies if it is wider.
std::optional<bool> as_exact_as(const Tensor& actual, const Tensor& expected, const Tensor& exact,
                                DType coarsest = DType::Undefined);
// If a run in float64 cannot decide: whether no element differs by more than 8 units in the last
// place of the tensor's magnitude plus four times the difference of LibTorch's own result `other`
// with other rounding (null: none), if that is rounding. The magnitude is that of the largest
// element, or 100 times that of most nonzero elements if a few are huge (masks).
bool within_rounding(const Tensor& actual, const Tensor& expected, const Tensor* other,
                     DType coarsest);
// The largest difference that rounding may explain: a hundredth of the typical element (the median
// magnitude of nonzero elements), and ten times the absolute tolerance. A result that differs by
// more has no two digits in common with LibTorch's, whatever the model's noise.
constexpr double kMostNoise = 0.01;
double noise_ceiling(const Tensor& expected, DType coarsest);

// Whether LibTorch chooses other elements in `other`, with other rounding, than in `expected`: a
// tensor of another shape or with other integers, or floats that differ by more than rounding.
// `actual` may then be a third choice, but without a NaN that LibTorch has in neither and, if all
// shapes are equal, without floats that differ more than four times as much. A tensor each, or the
// tensors of a sequence.
bool chooses_otherwise(const std::vector<TensorPtr>& actual, const std::vector<TensorPtr>& expected,
                       const std::vector<TensorPtr>& other);

// For a model with arithmetic in `half` (float16 or bfloat16): an element is right if |actual -
// exact| <= kRoundingSteps * epsilon * the largest finite |exact|. Both have float types; a
// value beyond the range of `actual`'s own type is infinite. A tolerance of the user replaces
// this one.
constexpr double kRoundingSteps = 32;
Comparison compare_rounded(const Tensor& actual, const Tensor& exact, DType half,
                           Tolerance given = {});
// The distance from 1 to the next number of a float type.
double unit_of(DType t);
double rounding_epsilon(DType half);  // 2^-11 of float16, 2^-8 of bfloat16
// The largest |a - b| over elements that are finite in both; null: of |a|. Both have the same
// shape; their types may differ.
double largest_difference(const Tensor& a, const Tensor* b);
// "float[2,10]".
std::string type_text(const Tensor& t);

// Integers, bools and strings exactly; NaN and infinities by position. Complex numbers by part.
Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance t = {});

}  // namespace oe::verify
