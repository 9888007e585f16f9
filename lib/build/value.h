// A value of the graph that is being built, together with the builder that adds what is computed
// from it: formulas read as they are written, `where(x > 0, x, alpha * (exp(x) - 1))`.
//
// Every function adds ONNX nodes in the form that the builder's opset has, and types its result as
// far as the operands tell: element type, rank, and the sizes that are certain. Number literals
// take the element type of the other operand, and those that change nothing add no node.
// Shapes broadcast as in numpy; axes are those of the operand, from 0 unless a comment says so.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::build {

class Builder;
using Ints = ir::Ints;

// What cannot be said in ONNX, or below `opset` (0: at no opset, or that of the rung).
struct Unsupported : std::runtime_error {
  explicit Unsupported(const std::string& why, int opset = 0)
      : std::runtime_error(why), opset(opset) {}
  int opset;
};

class T {
 public:
  T() = default;
  T(std::nullptr_t) {}
  T(Builder& b, ir::Value* v) : builder_(&b), value_(v) {}

  ir::Value* get() const { return value_; }
  operator ir::Value*() const { return value_; }
  ir::Value* operator->() const { return value_; }
  Builder& builder() const { return *builder_; }
  explicit operator bool() const { return value_ != nullptr; }
  // The same value, not equal content: that is equal().
  bool operator==(const T& o) const { return value_ == o.value_; }
  bool operator==(std::nullptr_t) const { return !value_; }

  DType dtype() const { return value_->type.dtype; }
  bool ranked() const { return value_->type.shape.has_value(); }
  int64_t rank() const;  // throws Unsupported when it is not known
  // The size of an axis where it is a number. Negative axes count from the end; 0-d counts as [1].
  std::optional<int64_t> dim(int64_t axis) const;
  int64_t axis(int64_t dim) const;  // wrapped into [0, rank); 0-d counts as rank 1

 private:
  Builder* builder_ = nullptr;
  ir::Value* value_ = nullptr;
};
using Values = std::vector<T>;

// An integer that may be computed in the graph (a 0-d int64 value).
struct Int {
  std::optional<int64_t> known;
  T computed;
};
using Dims = std::vector<Int>;
inline Int known(int64_t v) { return {v, nullptr}; }
inline Int computed(T v) { return {std::nullopt, v}; }
inline Dim dim_of(const Int& i) { return i.known ? Dim::of(*i.known) : Dim::unknown(); }
Dims to_dims(const Ints& v);
bool all_known(const Dims& d);

// --- arithmetic. Integers wrap, their quotients are cut towards zero; constant int64 operands of
// rank 0 or 1 are computed here.
T operator+(T a, T b);
T operator-(T a, T b);
T operator*(T a, T b);
T operator/(T a, T b);
T operator-(T a);
T operator<(T a, T b);
T operator>(T a, T b);
T operator<=(T a, T b);
T operator>=(T a, T b);
T operator&(T a, T b);  // And
T operator|(T a, T b);  // Or
T operator^(T a, T b);  // Xor
T operator~(T a);       // Not
T equal(T a, T b);      // NaN is unequal to itself
T where(T condition, T a, T b);
T maximum(T a, T b);  // NaN where either is; of bools Or
T minimum(T a, T b);

// A 0-d constant of the element type of `like`.
T number(double v, T like);
T integer(int64_t v, T like);
template <class N>
concept Literal = std::is_arithmetic_v<N> && !std::is_same_v<N, bool>;
template <Literal N>
T literal(N v, T like) {
  if constexpr (std::is_integral_v<N>)
    return integer(v, like);
  else
    return number(v, like);
}
template <Literal N>
T operator+(T a, N b) {
  return b == 0 && is_integer(a.dtype()) ? a : a + literal(b, a);
}
template <Literal N>
T operator-(T a, N b) {
  return b == 0 ? a : a - literal(b, a);
}
template <Literal N>
T operator*(T a, N b) {
  return b == 1 ? a : a * literal(b, a);
}
template <Literal N>
T operator/(T a, N b) {
  return b == 1 ? a : a / literal(b, a);
}
template <Literal N>
T operator+(N a, T b) {
  return literal(a, b) + b;
}
template <Literal N>
T operator-(N a, T b) {
  return literal(a, b) - b;
}
template <Literal N>
T operator*(N a, T b) {
  return literal(a, b) * b;
}
template <Literal N>
T operator/(N a, T b) {
  return literal(a, b) / b;
}
template <Literal N>
T operator<(T a, N b) {
  return a < literal(b, a);
}
template <Literal N>
T operator>(T a, N b) {
  return a > literal(b, a);
}
template <Literal N>
T operator<=(T a, N b) {
  return a <= literal(b, a);
}
template <Literal N>
T operator>=(T a, N b) {
  return a >= literal(b, a);
}
template <Literal N>
T equal(T a, N b) {
  return equal(a, literal(b, a));
}
template <Literal N>
T maximum(T a, N b) {
  return maximum(a, literal(b, a));
}
template <Literal N>
T minimum(T a, N b) {
  return minimum(a, literal(b, a));
}
template <Literal N>
T where(T condition, T a, N b) {
  return where(condition, a, literal(b, a));
}
template <Literal N>
T where(T condition, N a, T b) {
  return where(condition, literal(a, b), b);
}

// --- nodes of any operator, added by the builder of the first input that is there
T node(std::string_view op, const Values& inputs, ir::Attributes attributes = {},
       ir::Type type = {});
Values nodes(std::string_view op, const Values& inputs, ir::Attributes attributes, size_t outputs);

// --- functions of one operand, by their ONNX names
T unary(std::string_view op, T x);
inline T abs(T x) { return unary("Abs", x); }
inline T ceil(T x) { return unary("Ceil", x); }
inline T erf(T x) { return unary("Erf", x); }
inline T exp(T x) { return unary("Exp", x); }
inline T floor(T x) { return unary("Floor", x); }
inline T log(T x) { return unary("Log", x); }
inline T reciprocal(T x) { return unary("Reciprocal", x); }
inline T sigmoid(T x) { return unary("Sigmoid", x); }
inline T softplus(T x) { return unary("Softplus", x); }
inline T sqrt(T x) { return unary("Sqrt", x); }
inline T tanh(T x) { return unary("Tanh", x); }
T is_nan(T x);
T cast(T x, DType t);  // no node when the type is the same, a constant of a 0-d constant
inline T to_bool(T x) { return cast(x, DType::Bool); }  // NaN is true

// --- shape
T with_rank(T x, int64_t rank);  // states what is certain; adds nothing
T with_dims(T x, std::vector<Dim> dims);
T reshape(T x, const Ints& shape);  // 0 copies the axis, -1 is computed
T reshape(T x, const Dims& shape);  // 0 is an empty axis; at most one -1
T reshape(T x, T shape, std::optional<int64_t> rank = {});
// The first `keep` axes of x, then `rest`; right for empty tensors too.
T reshape_to(T x, const Dims& rest, int64_t keep = 0);
T flat(T x);                // 1-d; 0-d gives one element
T restore(T flat, T like);  // flat elements in the shape of `like`
T at_least_1d(T x);
T to_0d(T x);   // one element
T vector(T x);  // 0-d int64 -> 1-d of one element
T transpose(T x, const Ints& perm);
T swap(T x, int64_t rank, int64_t a, int64_t b);
T unsqueeze(T x, const Ints& axes);  // axes of the result
T squeeze(T x, const Ints& axes);
T along(T vector, int64_t axis, int64_t rank);  // [n] -> [1, .., n, .., 1] with `rank` axes

// --- pieces
T concat(const Values& v, int64_t axis);
inline constexpr int64_t kEnd = INT64_MAX;
// x[start:end:step] along an axis; bounds are clamped, negative ones count from the end; step > 0.
T slice(T x, int64_t axis, const Int& start, const Int& end, int64_t step = 1);
T slice(T x, int64_t axis, const Int& start, const Int& end, const Int& step);
T slice(T x, int64_t axis, T start, T end);    // 0-d int64
T entry(T x, int64_t axis, const Int& index);  // one entry of an axis, which goes away
T reverse(T x, int64_t axis);
T gather(T x, T indices, int64_t axis);
Values split(T x, int64_t axis, const Ints& sizes);

// --- sizes and broadcasting
T shape(T x);               // 1-d int64
T size(T x, int64_t axis);  // 0-d int64, a constant where the size is a number
Int size_of(T x, int64_t axis);
Dims sizes_of(T x, int64_t rank);
T sizes(T x, int64_t from, int64_t to);                     // of the axes [from, to), 1-d int64
std::optional<Ints> numbers(const std::vector<Dim>& dims);  // where all of them are
bool same_static(T a, T b);                                 // both shapes are numbers, and equal
bool same_dim(T a, int64_t a_axis, T b, int64_t b_axis);    // one number or one symbol
T expand(T x, T shape, std::optional<int64_t> rank = {});
T expand(T x, const Dims& shape);
T widened(T x, int64_t axis, const Int& size);  // of an axis with `size` entries, or one
Values broadcast(const Values& v);              // all in their common shape, empty axes too
std::vector<Dim> broadcast_dims(const std::vector<std::vector<Dim>>& shapes);
Shape broadcast_shape(const std::vector<ir::Value*>& inputs);  // absent when a rank is not known
T full(T shape, T value);                                      // `shape` filled with the 0-d value
T arange(T n);                                                 // [0, ..., n-1] int64 of a 0-d int64

// --- reductions and products
// ReduceSum, ReduceMean, ReduceMax ...; no axes: all of them.
T reduce(std::string_view op, T x, const Ints& axes, bool keepdims = true);
T matmul(T a, T b);
// Every vector along `axis` of x times m: [L, o] makes o elements of L.
T weigh_axis(T x, int64_t rank, int64_t axis, T m);

// --- integers that may be computed
Int operator+(const Int& a, const Int& b);
Int operator-(const Int& a, const Int& b);
Int operator*(const Int& a, const Int& b);
inline Int operator+(const Int& a, int64_t b) { return a + known(b); }
inline Int operator-(const Int& a, int64_t b) { return a - known(b); }
inline Int operator*(const Int& a, int64_t b) { return a * known(b); }
Int floor_div(const Int& a, const Int& b);  // a >= 0, b > 0
inline Int floor_div(const Int& a, int64_t b) { return floor_div(a, known(b)); }
Int ceil_div(const Int& a, const Int& b);  // a >= 0, b > 0
Int modulo(const Int& a, const Int& b);    // Python's a % b for b > 0
Int min(const Int& a, const Int& b);
Int max(const Int& a, const Int& b);
Int wrap(const Int& i, const Int& size);         // a negative index counts from the end
Int broadcast_size(const Int& a, const Int& b);  // of two axes broadcast against each other
Int product(const Dims& d);

// --- plain integers
Ints range(int64_t from, int64_t to);                      // [from, to)
Ints per_axis(const Ints& v, size_t n, int64_t fallback);  // [n] for all axes, or one each
inline bool narrow_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }
inline bool unsigned_type(DType t) {
  return t == DType::UInt8 || t == DType::UInt16 || t == DType::UInt32 || t == DType::UInt64;
}

}  // namespace oe::build
