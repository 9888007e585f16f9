// Tensors made from sizes and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

Value filled(Emit& g, Value shape, Value value) { return g.node("Expand", {value, shape}); }

// A known number goes into ConstantOfShape, a computed one is expanded.
Value full(Emit& g, Value shape, const Scalar& s) {
  const DType t = g.result_dtype();
  if (!s.known) return filled(g, shape, g.scalar(s, t));
  const Value v = g.scalar(s, t);
  const auto* bytes = static_cast<const char*>(v->data->data());
  return g.node("ConstantOfShape", {shape},
                {{"value", Tensor::from_bytes(t, {1}, bytes, v->data->nbytes())}});
}

Scalar integer(int64_t i) {
  Scalar s;
  s.i = i;
  s.d = static_cast<double>(i);
  return s;
}

// The dtype is the recorded one; layout, device and pinning mean nothing in ONNX.
template <int64_t N>
constexpr auto sized = [](Emit& g, const Dims& size, Skip, Skip, Skip, Skip) {
  return full(g, g.to_vector(size), integer(N));
};
// Memory that ATen leaves unwritten: any content is right.
constexpr auto empty_format = [](Emit& g, const Dims& size, Skip, Skip, Skip, Skip, Skip) {
  return full(g, g.to_vector(size), integer(0));
};
template <int64_t N>
constexpr auto like =
    [](Emit& g, Value x, Skip, Skip, Skip, Skip, Skip) { return full(g, g.shape(x), integer(N)); };
template <int64_t N>
constexpr auto new_sized = [](Emit& g, Skip, const Dims& size, Skip, Skip, Skip, Skip) {
  return full(g, g.to_vector(size), integer(N));
};

bool whole(const Scalar& s) { return s.kind != Scalar::Kind::Float; }

// A bound as LibTorch's kernels take it: a number given for an integer tensor loses its fraction
// before anything is computed with it.
Value bound(Emit& g, const Scalar& s, DType t) {
  return g.scalar(s, is_float(t) ? DType::Double : DType::Int64);
}

// start + i * step for i below n.
Value steps_from(Emit& g, Value start, Value n, Value step) {
  Value i = g.cast(g.node("Range", {g.i64(0), n, g.i64(1)}), g.dtype(start));
  return g.cast(pw::add(g, start, pw::mul(g, i, step)), g.result_dtype());
}

// start, start + step, ... below end: ceil((end - start) / step) elements. They are counted in
// float64 with the bounds as they are given, but for int64 in int64; the elements are made from
// bounds in the accumulate type of the result (ATen/native/RangeFactories.cpp).
Value arange(Emit& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType t = g.result_dtype();
  if (t == DType::Int64 || (whole(start) && whole(end) && whole(step))) {
    const DType i = DType::Int64;
    return g.cast(g.node("Range", {g.scalar(start, i), g.scalar(end, i), g.scalar(step, i)}), t);
  }
  const DType d = DType::Double;
  Value length = pw::sub(g, g.scalar(end, d), g.scalar(start, d));
  Value n = g.cast(g.node("Ceil", {pw::div(g, length, g.scalar(step, d))}), DType::Int64);
  return steps_from(g, bound(g, start, t), n, bound(g, step, t));
}

// As arange with the end included: trunc((end - start) / step) + 1 elements, counted in the
// accumulate type.
Value range(Emit& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType t = g.result_dtype();
  Value a = bound(g, start, t), s = bound(g, step, t);
  Value steps = pw::div(g, pw::sub(g, bound(g, end, t), a), s);
  return steps_from(g, a, pw::add(g, g.cast(steps, DType::Int64), g.i64(1)), s);
}

// ATen goes from the nearer end: start + i * step in the first half, end - (n - 1 - i) * step in
// the second. One step is the start alone. Computed in `c` from bounds in the result's type.
Value evenly_spaced(Emit& g, Value start, Value end, Value n, DType c) {
  const DType t = g.result_dtype();
  start = g.cast(g.cast(start, t), c), end = g.cast(g.cast(end, t), c);
  Value last = pw::sub(g, n, g.i64(1));
  Value gaps = g.cast(g.node("Max", {last, g.i64(1)}), c);
  Value step = pw::div(g, pw::sub(g, end, start), gaps);
  Value i = g.node("Range", {g.i64(0), n, g.i64(1)});
  Value low = pw::add(g, start, pw::mul(g, step, g.cast(i, c)));
  Value high = pw::sub(g, end, pw::mul(g, step, g.cast(pw::sub(g, last, i), c)));
  Value first_half = pw::less(g, i, pw::div(g, n, g.i64(2)));
  Value only_start = g.node("Equal", {last, i});  // i == last == 0
  only_start = pw::both(g, only_start, g.node("Equal", {n, g.i64(1)}));
  return pw::where(g, pw::either(g, first_half, only_start), low, high);
}

Value linspace(Emit& g, Value start, Value end, const Int& steps) {
  const DType t = g.result_dtype();
  const DType c = t == DType::Double || !is_float(t) ? DType::Double : DType::Float;
  return g.cast(evenly_spaced(g, start, end, g.to_value(steps), c), t);
}

// The exponents of a single step are the start as it is given.
Value logspace(Emit& g, Value start, Value end, const Int& steps, double base) {
  const DType d = DType::Double;
  Value n = g.to_value(steps);
  Value exponents = evenly_spaced(g, start, end, n, d);
  if (steps.known.value_or(1) == 1)
    exponents = pw::where(g, g.node("Equal", {n, g.i64(1)}), g.cast(start, d), exponents);
  return g.cast(g.node("Pow", {g.number(base, d), exponents}), g.result_dtype());
}

Value number(Emit& g, const Scalar& s) { return g.scalar(s, DType::Double); }

// Ones where the row is the column.
Value eye(Emit& g, const Int& rows, const Int& columns) {
  const auto iota = [&](const Int& n, int64_t axis) {
    return g.node("Unsqueeze",
                  {g.node("Range", {g.i64(0), g.to_value(n), g.i64(1)}), g.i64s({axis})});
  };
  return g.cast(g.node("Equal", {iota(rows, 1), iota(columns, 0)}), g.result_dtype());
}

// Nested lists of numbers, row by row; capture folds them unless a number is computed.
Value from_list(Emit& g, const Values& numbers) {
  Values pieces;
  for (Value v : numbers)
    pieces.push_back(g.node("Unsqueeze", {g.cast(v, g.result_dtype()), g.i64s({0})}));
  if (pieces.empty()) return full(g, g.i64s({0}), integer(0));
  Value flat = g.node("Concat", pieces, {{"axis", int64_t{0}}});
  Ints dims;
  const program::Arg* level = &g.call().args[0];
  while (auto* list = std::get_if<program::Args>(&level->v)) {
    dims.push_back(static_cast<int64_t>(list->size()));
    level = &list->front();
  }
  if (dims.size() == 1) return flat;
  return g.node("Reshape", {flat, g.i64s(dims)});
}

constexpr auto of_number = [](Emit& g, const Scalar& s, Skip, Skip, Skip) {
  return g.scalar(s, g.result_dtype());
};
constexpr auto as_number = [](Emit& g, const Scalar& s, Skip, Skip) {
  return g.scalar(s, g.result_dtype());
};

constexpr Lowering table[] = {
    op("aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       sized<0>),
    op("aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       sized<1>),
    op("aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Dims& size, const Scalar& s, Skip, Skip, Skip, Skip) {
         return full(g, g.to_vector(size), s);
       }),
    op("aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, "
       "Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       empty_format),
    op("aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       empty_format),
    op("aten::zeros_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<0>),
    op("aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<1>),
    op("aten::empty_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<0>),
    op("aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? "
       "memory_format=None) -> Tensor",
       [](Emit& g, Value x, const Scalar& s, Skip, Skip, Skip, Skip, Skip) {
         return full(g, g.shape(x), s);
       }),
    op("aten::new_zeros(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       new_sized<0>),
    op("aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       new_sized<1>),
    op("aten::new_empty(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       new_sized<0>),
    op("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Skip, const Dims& size, const Scalar& s, Skip, Skip, Skip, Skip) {
         return full(g, g.to_vector(size), s);
       }),
    op("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Skip, const Dims& size, Skip, Skip, Skip, Skip, Skip) {
         return full(g, g.to_vector(size), integer(0));
       }),
    op("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
       [](Emit& g, Value x, const Scalar& s) { return full(g, g.shape(x), s); }),
    op("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
       [](Emit& g, Value x, Value v) { return filled(g, g.shape(x), g.cast(v, g.dtype(x))); }),
    op("aten::zero(Tensor self) -> Tensor",
       [](Emit& g, Value x) { return full(g, g.shape(x), integer(0)); }),
    op("aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& end, Skip, Skip, Skip, Skip) {
         return arange(g, integer(0), end, integer(1));
       }),
    op("aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, const Scalar& end, Skip, Skip, Skip, Skip) {
         return arange(g, start, end, integer(1));
       }),
    op("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, const Scalar& end, const Scalar& step, Skip, Skip, Skip,
          Skip) { return arange(g, start, end, step); }),
    op("aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, "
       "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, const Scalar& end, const Scalar& step, Skip, Skip, Skip,
          Skip) { return range(g, start, end, step); }),
    op("aten::_dim_arange(Tensor like, int dim) -> Tensor",
       [](Emit& g, Value x, int64_t dim) {
         return g.node("Range", {g.i64(0), g.size(x, dim), g.i64(1)});
       }),
    op("aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? "
       "layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, const Scalar& end, const Int& steps, Skip, Skip, Skip,
          Skip) { return linspace(g, number(g, start), number(g, end), steps); }),
    op("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Value start, Value end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, start, end, steps);
       }),
    op("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, Value start, const Scalar& end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, start, number(g, end), steps);
       }),
    op("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, Value end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, number(g, start), end, steps);
       }),
    op("aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? "
       "dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& start, const Scalar& end, const Int& steps, double base, Skip,
          Skip, Skip, Skip) { return logspace(g, number(g, start), number(g, end), steps, base); }),
    op("aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
       "bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Int& n, Skip, Skip, Skip, Skip) { return eye(g, n, n); }),
    op("aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Int& n, const Int& m, Skip, Skip, Skip, Skip) { return eye(g, n, m); }),
    op("aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? "
       "device=None, bool? pin_memory=None) -> Tensor",
       [](Emit& g, const Scalar& s, Skip, Skip, Skip, Skip) {
         return g.scalar(s, g.result_dtype());
       }),
    op("aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool "
       "requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool "
       "requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool "
       "requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool "
       "requires_grad=False) -> Tensor",
       [](Emit& g, const Values& numbers, Skip, Skip, Skip) { return from_list(g, numbers); }),
    op("aten::as_tensor(Tensor data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       [](Emit& g, Value x, Skip, Skip) { return g.cast(x, g.result_dtype()); }),
    op("aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       [](Emit& g, const Values& numbers, Skip, Skip) { return from_list(g, numbers); }),
};

}  // namespace

Table creation_rows() { return table; }

}  // namespace oe::lower
