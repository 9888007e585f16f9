// Reductions over axes as ATen counts them. No list or an empty one: over all axes.
#pragma once

#include "lib/lower/emit.h"

namespace oe::lower::red {

// The axes as numbers in [0, rank).
Ints axes(const Emit& g, Value x, const std::optional<Ints>& dims);
// ReduceSum, ReduceMax, ... A 0-d tensor is reduced over nothing, whatever the list says.
Value reduce(Emit& g, std::string_view op, Value x, const std::optional<Ints>& dims, bool keepdim);
// How many elements each result is made of, where all the axes are static.
std::optional<int64_t> known_count(const Emit& g, Value x, const std::optional<Ints>& dims);
// The same as a 0-d value of type t, computed where an axis is dynamic.
Value count(Emit& g, Value x, const std::optional<Ints>& dims, DType t);
// The mean, in x's type; of nothing it is NaN.
Value mean(Emit& g, Value x, const std::optional<Ints>& dims, bool keepdim);
// ReduceMax or ReduceMin of any type but bool. A NaN is the result wherever there is one: ONNX
// leaves that open, and ONNX Runtime passes over NaNs.
Value extreme(Emit& g, std::string_view op, Value x, const std::optional<Ints>& dims, bool keepdim);

}  // namespace oe::lower::red
