// Reductions over axes as ATen counts them.
#pragma once

#include "lib/lower/lowering.h"

namespace oe::lower {

// No list or an empty one: all axes.
using MaybeAxes = std::optional<Axes>;

// ReduceSum, ReduceMean, ... A 0-d tensor is reduced over nothing, whatever the list says.
T reduce_over(std::string_view op, T x, const MaybeAxes& axes, bool keepdim);
// How many elements each result is made of, where all the axes are static.
std::optional<int64_t> known_count(T x, const MaybeAxes& axes);
// The same as a 0-d value of type t, computed where an axis is dynamic.
T count_over(T x, const MaybeAxes& axes, DType t);
// The mean, in x's type; of nothing it is NaN.
T mean_over(T x, const MaybeAxes& axes, bool keepdim, Rest = {});
// ReduceMax or ReduceMin. A NaN is the result wherever there is one: ONNX leaves that open, and
// ONNX Runtime passes over NaNs.
T extreme_over(std::string_view op, T x, const MaybeAxes& axes, bool keepdim);
// What a loss gives of its elements' losses.
T reduced(T losses, Reduction r);

}  // namespace oe::lower
