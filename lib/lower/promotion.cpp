// Type promotion as ATen does it.
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

// Within signed integers, and within floats, the wider type wins.
int width(DType t) { return static_cast<int>(byte_size(t)); }

// c10/core/ScalarType: a lower class of operands counts only where its category is higher.
DType combine(DType higher, DType lower) {
  if (is_complex(higher)) return higher;
  if (is_complex(lower)) return promote(higher, lower);
  if (is_float(higher)) return higher;
  if (higher == DType::Bool || is_float(lower)) return promote(higher, lower);
  return higher != DType::Undefined ? higher : lower;
}

struct Classes {
  DType with_axes = DType::Undefined, zero_d = DType::Undefined, numbers = DType::Undefined;

  void number(DType t) { numbers = promote(numbers, t == DType::Double ? DType::Float : t); }
  void add(const program::Arg& a) {
    if (std::holds_alternative<int64_t>(a.v)) number(DType::Int64);
    if (std::holds_alternative<double>(a.v)) number(DType::Double);
    if (std::holds_alternative<bool>(a.v)) number(DType::Bool);
    if (std::holds_alternative<program::ComplexNumber>(a.v)) numbers = DType::Complex64;
    if (auto* list = std::get_if<program::Args>(&a.v))
      for (const program::Arg& e : *list) add(e);
    const program::Value* v = a.value();
    if (!v) return;
    if (v->type.is_number())
      number(v->type.dtype);
    else if (v->type.shape && v->type.shape->empty())
      zero_d = promote(zero_d, v->type.dtype);
    else
      with_axes = promote(with_axes, v->type.dtype);
  }
};

}  // namespace

DType promote(DType a, DType b) {
  if (a == b || b == DType::Undefined) return a;
  if (a == DType::Undefined) return b;
  if (is_complex(a) || is_complex(b))
    return width(a) > 8 || width(b) > 8 || a == DType::Double || b == DType::Double
               ? DType::Complex128
               : DType::Complex64;
  if (is_float(a) || is_float(b)) {
    if (!is_float(b)) return a;
    if (!is_float(a)) return b;
    if (width(a) == width(b)) return DType::Float;  // float16 and bfloat16
    return width(a) > width(b) ? a : b;
  }
  if (a == DType::Bool) return b;
  if (b == DType::Bool) return a;
  if (a == DType::UInt8 && b == DType::Int8) return DType::Int16;
  if (a == DType::Int8 && b == DType::UInt8) return DType::Int16;
  return width(a) > width(b) ? a : b;
}

DType result_type(const Call& g, std::span<const size_t> arguments) {
  Classes c;
  for (size_t i : arguments)
    if (i < g.call().args.size()) c.add(g.call().args[i]);
  return combine(c.with_axes, combine(c.zero_d, c.numbers));
}

DType compute_type(DType t) {
  return t == DType::Float16 || t == DType::BFloat16 ? DType::Float : t;
}

std::pair<T, T> comparison(Call& g, T a, T b, bool ordered) {
  DType t = result_type(g, {0, 1});
  // Two numbers compare as Python's do; only a float operand makes float64.
  const bool numbers = g.call().outputs[0]->type.is_number();
  if (numbers && (a.dtype() == DType::Double || b.dtype() == DType::Double)) t = DType::Double;
  if (ordered && t == DType::Bool) t = DType::UInt8;
  return {cast(a, t), cast(b, t)};
}

}  // namespace oe::lower
