// Type promotion as ATen does it: which type a call computes in, and operands cast to it.
// Rules: https://pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
#pragma once

#include <initializer_list>
#include <span>
#include <utility>

#include "lib/lower/lowering.h"

namespace oe::lower {

// at::promoteTypes: the smallest type that holds both.
DType promote(DType a, DType b);

// at::result_type of the call's arguments with these positions: tensors with axes come before 0-d
// tensors, those before numbers; a lower class matters only where its category (bool < integer <
// float) is higher. Arguments that are None are passed over.
DType result_type(const Call& g, std::span<const size_t> arguments);
inline DType result_type(const Call& g, std::initializer_list<size_t> arguments) {
  return result_type(g, std::span(arguments.begin(), arguments.size()));
}

// The type in which ATen's CPU kernels calculate on elements of type t: float for half types.
DType compute_type(DType t);

// Operands of a comparison: arguments 0 and 1 of the call in their common type. Bool becomes
// uint8 where `ordered`, since ONNX orders no bools.
std::pair<T, T> comparison(Call& g, T a, T b, bool ordered);

namespace detail {
inline T in_type(DType result, DType t, T x) { return x ? cast(cast(x, result), t) : x; }
inline std::optional<T> in_type(DType result, DType t, const std::optional<T>& x) {
  return x ? std::optional(in_type(result, t, *x)) : x;
}
template <class K>
const K& in_type(DType, DType, const K& k) {
  return k;
}
inline DType itself(DType t) { return t; }

// Calls a row's function with its tensors in the type that Of makes of the result's.
template <DType (*Of)(DType), class F>
struct Typed;
template <DType (*Of)(DType), class L, class... A>
struct Typed<Of, T (L::*)(A...) const> {
  T operator()(Call& g, A... a) const {
    const DType result = g.result_dtype();
    return cast(L{}(in_type(result, Of(result), a)...), result);
  }
};
}  // namespace detail

// A row that is computed in the computing type and rounded once: its tensors and numbers arrive in
// that type, with the values that they have in the result's.
template <class L>
constexpr Lowering wide(std::string_view schema, L) {
  return op(schema, detail::Typed<compute_type, decltype(&L::operator())>{});
}
template <class L>
constexpr Lowering wide(Names names, std::string_view signature, L) {
  return op(names, signature, detail::Typed<compute_type, decltype(&L::operator())>{});
}
template <auto F>
constexpr Lowering wide(std::string_view schema) {
  return wide(schema, detail::function<F>(F));
}
template <auto F>
constexpr Lowering wide(Names names, std::string_view signature) {
  return wide(names, signature, detail::function<F>(F));
}

// A row whose tensors and numbers arrive in the result's type.
template <class L>
constexpr Lowering typed(std::string_view schema, L) {
  return op(schema, detail::Typed<detail::itself, decltype(&L::operator())>{});
}
template <class L>
constexpr Lowering typed(Names names, std::string_view signature, L) {
  return op(names, signature, detail::Typed<detail::itself, decltype(&L::operator())>{});
}
template <auto F>
constexpr Lowering typed(std::string_view schema) {
  return typed(schema, detail::function<F>(F));
}
template <auto F>
constexpr Lowering typed(Names names, std::string_view signature) {
  return typed(names, signature, detail::function<F>(F));
}

}  // namespace oe::lower
