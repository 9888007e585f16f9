// TorchScript's numbers: functions of one number, conversions, and sizes of tensors.
#include <cmath>
#include <numbers>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T as_double(T x) { return cast(x, DType::Double); }

template <FixedString Op>
T of_double(T x) {
  return unary(Op.view(), as_double(x));
}

// Whole numbers are rounded already; the result is an int or a float as recorded.
template <FixedString Op>
T rounded_number(T x) {
  return is_float(x.dtype()) ? unary(Op.view(), x) : x;
}

T log10(T x) { return log_base(as_double(x), 10); }
T log1p(T x) { return lower::log1p(as_double(x)); }
T expm1(T x) { return lower::expm1(as_double(x)); }
T fabs(T x) { return abs(as_double(x)); }
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
    op<of_double<"Sqrt">>("aten::sqrt.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Exp">>("aten::exp.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Log">>("aten::log.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Sin">>("aten::sin.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Cos">>("aten::cos.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Tan">>("aten::tan.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Asin">>("aten::asin.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Acos">>("aten::acos.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Atan">>("aten::atan.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Sinh">>("aten::sinh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Cosh">>("aten::cosh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Tanh">>("aten::tanh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Asinh">>("aten::asinh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Acosh">>("aten::acosh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Atanh">>("aten::atanh.Scalar(Scalar a) -> Scalar"),
    op<of_double<"Erf">>("aten::erf.Scalar(Scalar a) -> Scalar"),
    op<log10>("aten::log10.Scalar(Scalar a) -> Scalar"),
    op<log1p>("aten::log1p.Scalar(Scalar a) -> Scalar"),
    op<expm1>("aten::expm1.Scalar(Scalar a) -> Scalar"),
    op<degrees>("aten::degrees.Scalar(Scalar a) -> Scalar"),
    op<radians>("aten::radians.Scalar(Scalar a) -> Scalar"),
    op<fabs>("aten::fabs.Scalar(Scalar a) -> Scalar"),
    op<log_of_base>("aten::log.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    op<atan2>("aten::atan2.Scalar_Scalar(Scalar a, Scalar b) -> float"),
    op<rounded_number<"Ceil">>("aten::ceil.Scalar(Scalar a) -> Scalar"),
    op<rounded_number<"Floor">>("aten::floor.Scalar(Scalar a) -> Scalar"),
    op<rounded_number<"Round">>("aten::round.Scalar(Scalar a) -> Scalar"),
    op<is_nan>("aten::isnan.float(float a) -> bool"),
    op<is_infinite>("aten::isinf.float(float a) -> bool"),
    op<is_finite>("aten::isfinite.float(float a) -> bool"),
    op<convert>(names("aten::Int.Tensor", "aten::IntImplicit"), "(Tensor a) -> int"),
    op<convert>("aten::Int.Scalar(Scalar a) -> int"),
    op<convert>(names("aten::Float.Tensor", "aten::FloatImplicit"), "(Tensor a) -> float"),
    op<convert>("aten::Float.Scalar(Scalar a) -> float"),
    op<convert>("aten::Bool.Tensor(Tensor a) -> bool"),
    op<convert>("aten::Bool.float(float a) -> bool"),
    op<convert>("aten::Bool.int(int a) -> bool"),
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
