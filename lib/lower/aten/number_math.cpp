// TorchScript's numbers: functions of one number, conversions, and sizes of tensors.
#include <cmath>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T as_double(T x) { return cast(x, DType::Double); }

template <FixedString Op>
constexpr auto wide = [](T x) { return node(Op.view(), {as_double(x)}); };

// Whole numbers are rounded already; the result is an int or a float as recorded.
template <FixedString Op>
constexpr auto rounding = [](T x) { return is_float(x.dtype()) ? node(Op.view(), {x}) : x; };

T log10(T x) { return log_base(as_double(x), 10); }
T log1p(T x) { return lower::log1p(as_double(x)); }
T expm1(T x) { return lower::expm1(as_double(x)); }
T fabs(T x) { return abs(as_double(x)); }
T erfc(T x) { return 1 - erf(as_double(x)); }
T degrees(T x) { return as_double(x) * (180 / std::numbers::pi); }
T radians(T x) { return as_double(x) * (std::numbers::pi / 180); }
T log_of_base(T x, T base) { return log(as_double(x)) / log(as_double(base)); }
T atan2(T y, T x) { return lower::atan2(as_double(y), as_double(x)); }

T is_infinite(T x) { return unary("IsInf", x); }
T is_finite(T x) { return abs(x) < INFINITY; }

// Between numbers and tensors of one element, to the recorded type: floats are cut towards zero.
T convert(Call& g, T x) {
  x = cast(x, g.result_dtype());
  const bool scalar = x->type.shape && x->type.shape->empty();
  return scalar ? x : reshape(x, Ints{});
}

T numel(T x) { return unary("Size", x); }

// len(range(lo, hi, step)) = max(0, ceil((hi - lo) / step)); the ceiling through floors.
T range_length(T lo, T hi, T step) {
  const bool each = step->data && step->data->as_int64()[0] == 1;
  T length = each ? hi - lo : -floor_div(lo - hi, step);
  return maximum(length, 0);
}
T derive_index(T index, T start, T step) { return start + index * step; }

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
       [](T x) { return unary("Size", shape(x)); }),
    op<shape>("aten::_shape_as_tensor(Tensor self) -> Tensor"),
    op<range_length>("aten::__range_length(int lo, int hi, int step) -> int"),
    op<derive_index>("aten::__derive_index(int index, int start, int step) -> int"),
};

}  // namespace

Table number_math_rows() { return table; }

}  // namespace oe::lower
