// TorchScript's numbers: functions of one number, conversions, and sizes of tensors.
#include <cmath>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

Value as_double(Emit& g, Value x) { return g.cast(x, DType::Double); }

template <FixedString Op>
constexpr auto wide = [](Emit& g, Value x) { return g.node(Op.view(), {as_double(g, x)}); };

// Whole numbers are rounded already; the result is an int or a float as recorded.
template <FixedString Op>
constexpr auto rounding =
    [](Emit& g, Value x) { return is_float(g.dtype(x)) ? g.node(Op.view(), {x}) : x; };

Value log10(Emit& g, Value x) { return pw::log_base(g, as_double(g, x), 10); }
Value log1p(Emit& g, Value x) { return pw::log1p(g, as_double(g, x)); }
Value expm1(Emit& g, Value x) { return pw::expm1(g, as_double(g, x)); }
Value fabs(Emit& g, Value x) { return pw::abs(g, as_double(g, x)); }
Value erfc(Emit& g, Value x) {
  return pw::sub(g, g.number(1, DType::Double), g.node("Erf", {as_double(g, x)}));
}
Value degrees(Emit& g, Value x) {
  return pw::mul(g, as_double(g, x), g.number(180 / std::numbers::pi, DType::Double));
}
Value radians(Emit& g, Value x) {
  return pw::mul(g, as_double(g, x), g.number(std::numbers::pi / 180, DType::Double));
}
Value log_of_base(Emit& g, Value x, Value base) {
  return pw::div(g, g.node("Log", {as_double(g, x)}), g.node("Log", {as_double(g, base)}));
}
Value atan2(Emit& g, Value y, Value x) { return pw::atan2(g, as_double(g, y), as_double(g, x)); }

Value is_nan(Emit& g, Value x) { return g.node("IsNaN", {x}); }
Value is_infinite(Emit& g, Value x) { return g.node("IsInf", {x}); }
Value is_finite(Emit& g, Value x) { return pw::less(g, pw::abs(g, x), pw::num(g, INFINITY, x)); }

// Between numbers and tensors of one element, to the recorded type: floats are cut towards zero.
Value convert(Emit& g, Value x) {
  x = g.cast(x, g.result_dtype());
  const bool scalar = x->type.shape && x->type.shape->empty();
  return scalar ? x : g.node("Reshape", {x, g.i64s({})});
}

Value size(Emit& g, Value x, int64_t dim) { return g.size(x, dim); }
Value shape(Emit& g, Value x) { return g.shape(x); }
Value numel(Emit& g, Value x) { return g.node("Size", {x}); }

// len(range(lo, hi, step)) = max(0, ceil((hi - lo) / step)); the ceiling through floors.
Value range_length(Emit& g, Value lo, Value hi, Value step) {
  const bool each = step->data && step->data->as_int64()[0] == 1;
  Value length = each ? pw::sub(g, hi, lo) : pw::neg(g, pw::floor_div(g, pw::sub(g, lo, hi), step));
  return g.node("Max", {length, g.i64(0)});
}
Value derive_index(Emit& g, Value index, Value start, Value step) {
  return pw::add(g, start, pw::mul(g, index, step));
}

constexpr Lowering table[] = {
    op("aten::sqrt.int(int a) -> float", wide<"Sqrt">),
    op("aten::sqrt.float(float a) -> float", wide<"Sqrt">),
    op("aten::sqrt.Scalar(Scalar a) -> Scalar", wide<"Sqrt">),
    op("aten::exp.int(int a) -> float", wide<"Exp">),
    op("aten::exp.float(float a) -> float", wide<"Exp">),
    op("aten::exp.Scalar(Scalar a) -> Scalar", wide<"Exp">),
    op("aten::log.int(int a) -> float", wide<"Log">),
    op("aten::log.float(float a) -> float", wide<"Log">),
    op("aten::log.Scalar(Scalar a) -> Scalar", wide<"Log">),
    op("aten::sin.int(int a) -> float", wide<"Sin">),
    op("aten::sin.float(float a) -> float", wide<"Sin">),
    op("aten::sin.Scalar(Scalar a) -> Scalar", wide<"Sin">),
    op("aten::cos.int(int a) -> float", wide<"Cos">),
    op("aten::cos.float(float a) -> float", wide<"Cos">),
    op("aten::cos.Scalar(Scalar a) -> Scalar", wide<"Cos">),
    op("aten::tan.int(int a) -> float", wide<"Tan">),
    op("aten::tan.float(float a) -> float", wide<"Tan">),
    op("aten::tan.Scalar(Scalar a) -> Scalar", wide<"Tan">),
    op("aten::asin.int(int a) -> float", wide<"Asin">),
    op("aten::asin.float(float a) -> float", wide<"Asin">),
    op("aten::asin.Scalar(Scalar a) -> Scalar", wide<"Asin">),
    op("aten::acos.int(int a) -> float", wide<"Acos">),
    op("aten::acos.float(float a) -> float", wide<"Acos">),
    op("aten::acos.Scalar(Scalar a) -> Scalar", wide<"Acos">),
    op("aten::atan.int(int a) -> float", wide<"Atan">),
    op("aten::atan.float(float a) -> float", wide<"Atan">),
    op("aten::atan.Scalar(Scalar a) -> Scalar", wide<"Atan">),
    op("aten::sinh.int(int a) -> float", wide<"Sinh">),
    op("aten::sinh.float(float a) -> float", wide<"Sinh">),
    op("aten::sinh.Scalar(Scalar a) -> Scalar", wide<"Sinh">),
    op("aten::cosh.int(int a) -> float", wide<"Cosh">),
    op("aten::cosh.float(float a) -> float", wide<"Cosh">),
    op("aten::cosh.Scalar(Scalar a) -> Scalar", wide<"Cosh">),
    op("aten::tanh.int(int a) -> float", wide<"Tanh">),
    op("aten::tanh.float(float a) -> float", wide<"Tanh">),
    op("aten::tanh.Scalar(Scalar a) -> Scalar", wide<"Tanh">),
    op("aten::asinh.int(int a) -> float", wide<"Asinh">),
    op("aten::asinh.float(float a) -> float", wide<"Asinh">),
    op("aten::asinh.Scalar(Scalar a) -> Scalar", wide<"Asinh">),
    op("aten::acosh.int(int a) -> float", wide<"Acosh">),
    op("aten::acosh.float(float a) -> float", wide<"Acosh">),
    op("aten::acosh.Scalar(Scalar a) -> Scalar", wide<"Acosh">),
    op("aten::atanh.int(int a) -> float", wide<"Atanh">),
    op("aten::atanh.float(float a) -> float", wide<"Atanh">),
    op("aten::atanh.Scalar(Scalar a) -> Scalar", wide<"Atanh">),
    op("aten::erf.int(int a) -> float", wide<"Erf">),
    op("aten::erf.float(float a) -> float", wide<"Erf">),
    op("aten::erf.Scalar(Scalar a) -> Scalar", wide<"Erf">),
    op<log10>("aten::log10.int(int a) -> float"),
    op<log10>("aten::log10.float(float a) -> float"),
    op<log10>("aten::log10.Scalar(Scalar a) -> Scalar"),
    op<log1p>("aten::log1p.int(int a) -> float"),
    op<log1p>("aten::log1p.float(float a) -> float"),
    op<log1p>("aten::log1p.Scalar(Scalar a) -> Scalar"),
    op<expm1>("aten::expm1.int(int a) -> float"),
    op<expm1>("aten::expm1.float(float a) -> float"),
    op<expm1>("aten::expm1.Scalar(Scalar a) -> Scalar"),
    op<erfc>("aten::erfc.int(int a) -> float"),
    op<erfc>("aten::erfc.float(float a) -> float"),
    op<erfc>("aten::erfc.Scalar(Scalar a) -> Scalar"),
    op<degrees>("aten::degrees.int(int a) -> float"),
    op<degrees>("aten::degrees.float(float a) -> float"),
    op<degrees>("aten::degrees.Scalar(Scalar a) -> Scalar"),
    op<radians>("aten::radians.int(int a) -> float"),
    op<radians>("aten::radians.float(float a) -> float"),
    op<radians>("aten::radians.Scalar(Scalar a) -> Scalar"),
    op<fabs>("aten::fabs.int(int a) -> float"),
    op<fabs>("aten::fabs.float(float a) -> float"),
    op<fabs>("aten::fabs.Scalar(Scalar a) -> Scalar"),
    op<log_of_base>("aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    op<log_of_base>("aten::log.int_int(int a, int b) -> float"),
    op<log_of_base>("aten::log.float_float(float a, float b) -> float"),
    op<log_of_base>("aten::log.int_float(int a, float b) -> float"),
    op<log_of_base>("aten::log.float_int(float a, int b) -> float"),
    op<atan2>("aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    op<atan2>("aten::atan2.int(int a, int b) -> float"),
    op<atan2>("aten::atan2.float(float a, float b) -> float"),
    op<atan2>("aten::atan2.int_float(int a, float b) -> float"),
    op<atan2>("aten::atan2.float_int(float a, int b) -> float"),
    op("aten::ceil.int(int a) -> int", rounding<"Ceil">),
    op("aten::ceil.float(float a) -> int", rounding<"Ceil">),
    op("aten::ceil.Scalar(Scalar a) -> Scalar", rounding<"Ceil">),
    op("aten::floor.int(int a) -> int", rounding<"Floor">),
    op("aten::floor.float(float a) -> int", rounding<"Floor">),
    op("aten::floor.Scalar(Scalar a) -> Scalar", rounding<"Floor">),
    op("aten::round.int(int a) -> float", rounding<"Round">),
    op("aten::round.float(float a) -> float", rounding<"Round">),
    op("aten::round.Scalar(Scalar a) -> Scalar", rounding<"Round">),
    op<is_nan>("aten::isnan.float(float a) -> bool"),
    op<is_infinite>("aten::isinf.float(float a) -> bool"),
    op<is_finite>("aten::isfinite.float(float a) -> bool"),
    op<convert>("aten::Int.Tensor(Tensor a) -> int"),
    op<convert>("aten::Int.Scalar(Scalar a) -> int"),
    op<convert>("aten::Int.bool(bool a) -> int"),
    op<convert>("aten::Int.float(float a) -> int"),
    op<convert>("aten::Float.Tensor(Tensor a) -> float"),
    op<convert>("aten::Float.Scalar(Scalar a) -> float"),
    op<convert>("aten::Float.bool(bool a) -> float"),
    op<convert>("aten::Bool.Tensor(Tensor a) -> bool"),
    op<convert>("aten::Bool.float(float a) -> bool"),
    op<convert>("aten::Bool.int(int a) -> bool"),
    op<convert>("aten::IntImplicit(Tensor a) -> int"),
    op<convert>("aten::FloatImplicit(Tensor a) -> float"),
    op<convert>("aten::ScalarImplicit(Tensor a) -> Scalar"),
    op<convert>("aten::item(Tensor self) -> Scalar"),
    op<convert>("prim::NumToTensor.Scalar(Scalar a) -> Tensor"),
    op<size>("aten::size.int(Tensor self, int dim) -> int"),
    op<numel>("aten::numel(Tensor self) -> int"),
    op("aten::dim(Tensor self) -> int",  // computed only where the rank is not known
       [](Emit& g, Value x) { return g.node("Size", {g.shape(x)}); }),
    op<shape>("aten::_shape_as_tensor(Tensor self) -> Tensor"),
    op<range_length>("aten::__range_length(int lo, int hi, int step) -> int"),
    op<derive_index>("aten::__derive_index(int index, int start, int step) -> int"),
};

}  // namespace

Table number_math_rows() { return table; }

}  // namespace oe::lower
