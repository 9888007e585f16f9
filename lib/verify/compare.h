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
// The first difference of two values: their kind, the length of a sequence, or the text of
// `differ` for two tensors (empty: none). Empty where they agree.
std::string value_difference(
    const HostValue& actual, const HostValue& expected,
    const std::function<std::string(const Tensor& actual, const Tensor& expected)>& differ);
// The first of these; empty where both are of one kind.
std::string kind_difference(const HostValue& actual, const HostValue& expected);
// Whether `actual` is as near to the result in float64 as LibTorch's own `expected` is (within four
// times its largest error and the tolerance). Nothing where `exact` cannot judge, because it has
// another shape or `expected` differs from it by more than rounding, ten times the tolerance at the
// tensor's scale: the model chose otherwise in float64 (which boxes are kept).
// `exact` is Double, the others a type of float. `coarsest`: the least exact type of float that the
// model computes in, whose tolerance counts where it is wider.
std::optional<bool> as_exact_as(const Tensor& actual, const Tensor& expected, const Tensor& exact,
                                DType coarsest = DType::Undefined);
// Where a run in float64 does not say so: whether no element differs by more than 8 units in the
// last place of the tensor's magnitude and four times what LibTorch's own result `other` where it
// rounds otherwise (null: there is none) differs by, if that is rounding. The magnitude is that of
// the largest element, or 100 times that of most that are not 0 where a few are huge (masks).
bool within_rounding(const Tensor& actual, const Tensor& expected, const Tensor* other,
                     DType coarsest);
// The largest difference that rounding may explain: what is further apart than a hundredth of the
// typical element (the median magnitude of those that are not 0), and ten times the absolute
// tolerance, has no two digits in common with LibTorch's result, whatever noise the model makes.
constexpr double kMostNoise = 0.01;
double noise_ceiling(const Tensor& expected, DType coarsest);

// Whether LibTorch chooses otherwise in `other`, where it rounds otherwise, than in `expected`: a
// tensor of another shape or with other integers, or floats further off than rounding. Then
// `actual` may be a third choice, but no NaN that LibTorch has in neither and, where all shapes are
// the same, no floats more than four times as far off. One tensor each, or those of a sequence.
bool chooses_otherwise(const std::vector<TensorPtr>& actual, const std::vector<TensorPtr>& expected,
                       const std::vector<TensorPtr>& other);

// For a model whose arithmetic was rounded to `half` (float16 or bfloat16): an element is right
// where |actual - exact| <= kRoundingSteps * epsilon * the largest finite |exact|. Both are types
// of float; what `actual`'s own type does not reach is infinite. A tolerance that is given counts
// instead.
constexpr double kRoundingSteps = 32;
Comparison compare_rounded(const Tensor& actual, const Tensor& exact, DType half,
                           Tolerance given = {});
// The distance from 1 to the next number of a type of float.
double unit_of(DType t);
double rounding_epsilon(DType half);  // 2^-11 of float16, 2^-8 of bfloat16
// The largest |a - b| over elements that are finite in both; null: of |a|. Of one shape, types may
// differ.
double largest_difference(const Tensor& a, const Tensor* b);
// "float[2,10]".
std::string type_text(const Tensor& t);

// Integers, bools and strings exactly; NaN and infinities by position. Complex numbers by part.
Comparison compare(const Tensor& actual, const Tensor& expected, Tolerance t = {});

}  // namespace oe::verify
