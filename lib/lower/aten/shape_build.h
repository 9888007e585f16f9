// Builders shared by the families that move elements: views, joins, indexing, scatters, padding.
//
// The rank of an operand is passed where it is needed, or read from the value: every builder here
// gives its result a rank whenever it knows one.
#pragma once

#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower::shape {

using namespace nn;

// --- integers that may be computed
Int min(Emit& g, const Int& a, const Int& b);
Int max(Emit& g, const Int& a, const Int& b);
// An index counted from the end when negative -> counted from the start.
Int wrap(Emit& g, const Int& i, const Int& size);
// ceil(a / b) for a >= 0, b > 0.
Int ceil_div(Emit& g, const Int& a, const Int& b);
// Python's a % b for b > 0.
Int modulo(Emit& g, const Int& a, const Int& b);
// The size of two axes that are broadcast against each other.
Int broadcast_size(Emit& g, const Int& a, const Int& b);
inline Int from_value(Value v) { return {std::nullopt, v}; }

// --- ranks
Value with_rank(Value v, int64_t rank);
// x with exactly these dims; nothing is emitted. Only for shapes that are certain.
Value with_dims(Value v, std::vector<Dim> dims);

// --- reshaping. Right for empty tensors too, where a plain 0 would copy the input's axis.
// Target: the first `keep` axes of x, then `rest` (at most one -1 when keep is 0).
Value reshape_to(Emit& g, Value x, const Dims& rest, int64_t keep = 0);
Value flat(Emit& g, Value x);                        // 1-d; 0-d gives one element
Value restore(Emit& g, Value flat, Value like);      // flat elements in the shape of `like`
Value at_least_1d(Emit& g, Value x);                 // 0-d -> [1], otherwise x itself
Value to_0d(Emit& g, Value x);                       // one element -> 0-d
Value permuted(Emit& g, Value x, const Ints& perm);  // no node for the identity
Value unsqueezed(Emit& g, Value x, Ints axes);       // axes of the result, not negative
Value squeezed(Emit& g, Value x, const Ints& axes);  // axes of x, not negative
// [n] -> [1, .., n, .., 1] with `rank` axes.
Value along(Emit& g, Value vector, int64_t axis, int64_t rank);

// --- pieces
// x[start:end:step] along an axis with PyTorch's clamping, which is ONNX's; step > 0.
Value cut(Emit& g, Value x, int64_t axis, const Int& start, const Int& end, int64_t step = 1);
inline constexpr int64_t kEnd = INT64_MAX;
// One entry of an axis, which goes away. A negative known index counts from the end.
Value entry(Emit& g, Value x, int64_t axis, const Int& index);
Value joined(Emit& g, const Values& v, int64_t axis);  // Concat that keeps the rank
Value reversed(Emit& g, Value x, int64_t axis);
Value taken(Emit& g, Value x, Value indices, int64_t axis);  // Gather that keeps the rank

// --- sizes and broadcasting
// Sizes of the axes [from, to) as a 1-d int64 value.
Value sizes(Emit& g, Value x, int64_t from, int64_t to);
// Both shapes are fully static and equal.
bool same_static(Value a, Value b);
// The axes have one size by construction: one number or one symbol.
bool same_dim(Value a, int64_t a_axis, Value b, int64_t b_axis);
Value expanded(Emit& g, Value x, Value shape_vector, int64_t rank);
// x with `size` entries on an axis that has as many, or one.
Value widened(Emit& g, Value x, int64_t axis, const Int& size);
// All operands in their common shape. Exact for axes of size 0.
Values broadcast(Emit& g, const Values& v);

}  // namespace oe::lower::shape
