// Tensors made from sizes and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// A known number goes into ConstantOfShape, a computed one is expanded.
T full_of(Call& g, T shape, T number) {
  const DType t = g.result_dtype();
  T v = cast(number, t);
  if (!v->data) return expand(v, shape);
  const auto* bytes = static_cast<const char*>(v->data->data());
  return node("ConstantOfShape", {shape},
              {{"value", Tensor::from_bytes(t, {1}, bytes, v->data->nbytes())}});
}

// The dtype is the recorded one; layout, device and pinning mean nothing in ONNX.
T full(Call& g, const Dims& size, T number, Rest) { return full_of(g, g.vector(size), number); }
T new_full(Call& g, Skip, const Dims& size, T number, Rest) {
  return full_of(g, g.vector(size), number);
}
T full_like(Call& g, T x, T number, Rest) { return full_of(g, shape(x), number); }
// N in every place; 0 also where ATen leaves the memory unwritten.
template <int64_t N>
T sized(Call& g, const Dims& size, Rest) {
  return full_of(g, g.vector(size), g.i64(N));
}
template <int64_t N>
T new_sized(Call& g, Skip, const Dims& size, Rest) {
  return full_of(g, g.vector(size), g.i64(N));
}
template <int64_t N>
T like(Call& g, T x, Rest) {
  return full_of(g, shape(x), g.i64(N));
}

// A bound as LibTorch's kernels take it: a number given for an integer tensor loses its fraction
// before anything is computed with it.
T bound(T number, DType t) { return cast(number, is_float(t) ? DType::Double : DType::Int64); }

// start + i * step for i below n.
T steps_from(Call& g, T start, T n, T step) {
  T i = cast(node("Range", {g.i64(0), n, g.i64(1)}), start.dtype());
  return cast(start + i * step, g.result_dtype());
}

// start, start + step, ... below end: ceil((end - start) / step) elements. They are counted in
// float64 with the bounds as they are given, but for int64 in int64; the elements are made from
// bounds in the accumulate type of the result (ATen/native/RangeFactories.cpp).
T arange_step(Call& g, T start, T end, T step, Rest = {}) {
  const DType t = g.result_dtype(), i = DType::Int64, d = DType::Double;
  const auto whole = [](T v) { return !is_float(v.dtype()); };
  if (t == i || (whole(start) && whole(end) && whole(step)))
    return cast(node("Range", {cast(start, i), cast(end, i), cast(step, i)}), t);
  T length = cast(end, d) - cast(start, d);
  T n = cast(ceil(length / cast(step, d)), i);
  return steps_from(g, bound(start, t), n, bound(step, t));
}
T arange_start(Call& g, T start, T end, Rest) { return arange_step(g, start, end, g.i64(1)); }
T arange_end(Call& g, T end, Rest) { return arange_step(g, g.i64(0), end, g.i64(1)); }

// As arange with the end included: trunc((end - start) / step) + 1 elements, counted in the
// accumulate type.
T range_step(Call& g, T start, T end, T step, Rest) {
  const DType t = g.result_dtype();
  T a = bound(start, t), s = bound(step, t);
  T steps = (bound(end, t) - a) / s;
  return steps_from(g, a, cast(steps, DType::Int64) + 1, s);
}

// ATen goes from the nearer end: start + i * step in the first half, end - (n - 1 - i) * step in
// the second. One step is the start alone. Computed in `c` from bounds in the result's type.
T evenly_spaced(Call& g, T start, T end, T n, DType c) {
  const DType t = g.result_dtype();
  start = cast(cast(start, t), c), end = cast(cast(end, t), c);
  T last = n - 1;
  T gaps = cast(maximum(last, 1), c);
  T step = (end - start) / gaps;
  T i = node("Range", {g.i64(0), n, g.i64(1)});
  T low = start + step * cast(i, c);
  T high = end - step * cast(last - i, c);
  T first_half = i < n / 2;
  T only_start = equal(last, i);  // i == last == 0
  only_start = only_start & equal(n, 1);
  return where(first_half | only_start, low, high);
}

T linspace(Call& g, T start, T end, const Int& steps, Rest) {
  const DType t = g.result_dtype();
  const DType c = t == DType::Double || !is_float(t) ? DType::Double : DType::Float;
  return cast(evenly_spaced(g, start, end, g.value(steps), c), t);
}

// The exponents of a single step are the start as it is given.
T logspace(Call& g, T start, T end, const Int& steps, double base, Rest) {
  const DType d = DType::Double;
  T n = g.value(steps);
  T exponents = evenly_spaced(g, start, end, n, d);
  if (steps.known.value_or(1) == 1) exponents = where(equal(n, 1), cast(start, d), exponents);
  return cast(node("Pow", {g.number(base, d), exponents}), g.result_dtype());
}

// Ones where the row is the column; of the types that ONNX Runtime has it for.
T rectangle(Call& g, const Int& rows, const Int& columns, Rest = {}) {
  const DType d = g.result_dtype();
  const bool direct = d == DType::Float || d == DType::Double || d == DType::Int32;
  const T zeros = node("ConstantOfShape", {g.vector({rows, columns})});  // in float32
  return cast(
      node("EyeLike", {zeros}, {{"dtype", static_cast<int64_t>(direct ? d : DType::Int64)}}), d);
}

T eye(Call& g, const Int& n, Rest) { return rectangle(g, n, n); }

// Nested lists of numbers, row by row; capture folds them unless a number is computed.
T from_list(Call& g, const Values& numbers, Rest) {
  Values pieces;
  for (T v : numbers) pieces.push_back(unsqueeze(cast(v, g.result_dtype()), {0}));
  if (pieces.empty()) return full_of(g, g.i64s({0}), g.i64(0));
  T flat = node("Concat", pieces, {{"axis", int64_t{0}}});
  Ints dims;
  const program::Arg* level = &g.call().args[0];
  while (auto* list = std::get_if<program::Args>(&level->v)) {
    dims.push_back(static_cast<int64_t>(list->size()));
    level = &list->front();
  }
  if (dims.size() == 1) return flat;
  return reshape(flat, dims);
}

T of_number(Call& g, T x, Rest) { return cast(x, g.result_dtype()); }

constexpr Lowering table[] = {
    op<sized<0>>(
        "aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<sized<1>>(
        "aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<full>(
        "aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<sized<0>>(
        "aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op<sized<0>>(
        "aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<like<0>>(
        names("aten::zeros_like", "aten::empty_like"),
        "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op<like<1>>(
        "aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op<full_like>(
        "aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor"),
    op<new_sized<0>>(
        names("aten::new_zeros", "aten::new_empty"),
        "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<new_sized<1>>(
        "aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<new_full>(
        "aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<new_sized<0>>(
        "aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<full_like>("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor"),
    op<full_like>("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor"),
    op<like<0>>("aten::zero(Tensor self) -> Tensor"),
    op<arange_end>(
        "aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<arange_start>(
        "aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<arange_step>(
        "aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<range_step>(
        "aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op("aten::_dim_arange(Tensor like, int dim) -> Tensor",
       [](Call& g, T x, Axis axis) {
         return node("Range", {g.i64(0), size(x, axis), g.i64(1)});
       }),
    op<linspace>(
        "aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<linspace>(
        "aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<linspace>(
        "aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<linspace>(
        "aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<logspace>(
        "aten::logspace.Tensor_Tensor(Tensor start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<logspace>("aten::logspace.Tensor_Scalar(Tensor start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<logspace>(
        "aten::logspace.Scalar_Tensor(Scalar start, Tensor end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<logspace>(
        "aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<eye>(
        "aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<rectangle>(
        "aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<of_number>(
        "aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"),
    op<of_number>(
        "aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"),
    op<of_number>(
        "aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"),
    op<of_number>(
        "aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"),
    op<from_list>(
        "aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor"),
    op<of_number>(
        "aten::as_tensor(Tensor data, *, ScalarType? dtype=None, Device? device=None) -> Tensor"),
    op<of_number>(
        "aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor"),
    op<of_number>(
        "aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor"),
    op<of_number>(
        "aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor"),
    op<from_list>(
        "aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor"),
};

}  // namespace

Table creation_rows() { return table; }

}  // namespace oe::lower
