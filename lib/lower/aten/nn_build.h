// Short names for the ONNX nodes that the neural-network families build most.
#pragma once

#include "lib/lower/emit.h"

namespace oe::lower::nn {

// --- arithmetic (operands already of one type)
inline Value add(Emit& g, Value a, Value b) { return g.node("Add", {a, b}); }
inline Value sub(Emit& g, Value a, Value b) { return g.node("Sub", {a, b}); }
inline Value mul(Emit& g, Value a, Value b) { return g.node("Mul", {a, b}); }
inline Value div(Emit& g, Value a, Value b) { return g.node("Div", {a, b}); }
inline Value sqrt(Emit& g, Value a) { return g.node("Sqrt", {a}); }
inline Value where(Emit& g, Value c, Value a, Value b) { return g.node("Where", {c, a, b}); }
// A constant of the same element type as `like`.
inline Value num(Emit& g, double v, Value like) { return g.number(v, g.dtype(like)); }

// --- shape
Value reshape(Emit& g, Value x, const Ints& shape);  // 0 copies the axis, -1 is computed
// Reshape to `shape`: at most one computed entry becomes -1, otherwise the vector is computed.
Value reshape(Emit& g, Value x, const Dims& shape);
Value unsqueeze(Emit& g, Value x, const Ints& axes);
Value squeeze(Emit& g, Value x, const Ints& axes);
Value transpose(Emit& g, Value x, const Ints& perm);  // no node for the identity
Value swap(Emit& g, Value x, int64_t rank, int64_t a, int64_t b);
Value concat(Emit& g, const Values& v, int64_t axis);
Value slice(Emit& g, Value x, int64_t axis, Int start, Int end);
Value expand(Emit& g, Value x, const Dims& shape);
Value gather(Emit& g, Value x, Value indices, int64_t axis);
// Equal or given sizes along `axis`.
Values split(Emit& g, Value x, int64_t axis, const Ints& sizes);
// ReduceSum, ReduceMean, ReduceMax ...; empty axes: all of them.
Value reduce(Emit& g, std::string_view op, Value x, const Ints& axes, bool keepdims = true);
Value matmul(Emit& g, Value a, Value b);
// Every vector along `axis` of x times m: [L, o] makes o elements of L.
Value weigh_axis(Emit& g, Value x, int64_t rank, int64_t axis, Value m);

// --- integers that may be computed
inline Int known(int64_t v) { return {v, nullptr}; }
Dims to_dims(const Ints& v);
Int dim(Emit& g, Value x, int64_t axis);  // static size if known, else computed; axis >= 0
Dims dims(Emit& g, Value x, int64_t rank);
Int add(Emit& g, const Int& a, const Int& b);
Int sub(Emit& g, const Int& a, const Int& b);
Int mul(Emit& g, const Int& a, const Int& b);
Int floor_div(Emit& g, const Int& a, int64_t b);  // a >= 0, b > 0
Int product(Emit& g, const Dims& d);
// 1-d int64 [0, n).
Value iota(Emit& g, const Int& n);

// --- constants
Value floats(Emit& g, DType t, const Ints& shape, const std::vector<double>& values);
Value filled(Emit& g, DType t, const Ints& shape, double value);
Value filled(Emit& g, DType t, const Dims& shape, double value);

// [n] given once for all axes, or per axis -> n entries.
Ints per_axis(const Ints& v, size_t n, int64_t fallback);
Ints range(int64_t from, int64_t to);  // [from, to)
bool narrow_float(DType t);            // float16, bfloat16: PyTorch accumulates these in float32
// The type PyTorch computes sums and statistics in for element type t.
inline DType accumulate_type(DType t) { return narrow_float(t) ? DType::Float : t; }

// Sums, means or leaves as it is (PyTorch's reduction argument: 0 none, 1 mean, 2 sum).
Value reduction(Emit& g, Value loss, int64_t kind);

}  // namespace oe::lower::nn
