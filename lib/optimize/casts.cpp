// Chains of Cast become one, where the type in between holds every value of the first.
//
//   a = Cast <to = double> (x)          # x is float
//   y = Cast <to = int64> (a)       =>  y = Cast <to = int64> (x)
//
// int64 -> int32 -> int64 stays: it wraps.
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

struct Range {
  int bits;       // of the integer part or significand
  bool negative;  // holds negative numbers
  int exponent;   // largest power of two it reaches; 0 for integers
};

bool range_of(DType t, Range& r) {
  switch (t) {
    case DType::Bool:
      r = {1, false, 0};
      return true;
    case DType::Float16:
      r = {11, true, 15};
      return true;
    case DType::BFloat16:
      r = {8, true, 127};
      return true;
    case DType::Float:
      r = {24, true, 127};
      return true;
    case DType::Double:
      r = {53, true, 1023};
      return true;
    default:
      break;
  }
  if (!is_integer(t)) return false;
  const int bits = static_cast<int>(byte_size(t)) * 8;
  r = {is_signed_integer(t) ? bits - 1 : bits, is_signed_integer(t), 0};
  return true;
}

// Whether every value of `from` is a value of `to`, so that the cast keeps it.
bool widens(DType from, DType to) {
  Range a{}, b{};
  if (!range_of(from, a) || !range_of(to, b)) return false;
  if (from == to) return true;
  if (to == DType::Bool || (a.negative && !b.negative)) return false;
  if (a.exponent && !b.exponent) return false;  // float to integer rounds
  if (!a.exponent && b.exponent)                // integer to float
    return a.bits <= b.bits && a.bits <= b.exponent;
  // Subnormals: float16's smallest, 2^-24, is a normal number of bfloat16 and float, but bfloat16
  // lacks the bits; float's and bfloat16's smallest are normal in double.
  return a.bits <= b.bits && a.exponent <= b.exponent;
}

}  // namespace

bool merge_casts(Model& m, const Options&) {
  Rewriter r(m);
  return r.walk([&](Node& n) {
    if (!n.is("Cast")) return;
    const Node* inner = produced_by(n.inputs[0], "Cast");
    if (!inner) return;
    Value* x = inner->inputs[0];
    const auto middle = static_cast<DType>(inner->attributes.get_or<int64_t>("to", 0));
    const auto to = static_cast<DType>(n.attributes.get_or<int64_t>("to", 0));
    Range any{};
    if (!range_of(to, any) || !widens(x->type.dtype, middle)) return;
    if (x->type.dtype == to) {
      r.forward(n, x);
    } else {
      n.inputs[0] = x;
      r.mark_changed();
    }
  });
}

}  // namespace oe::optimize
