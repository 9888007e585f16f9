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

// start, start + step, ... below end. ATen counts and multiplies in float64 unless all three are
// integers: ceil((end - start) / step) elements of start + i * step.
Value arange(Emit& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType t = g.result_dtype();
  if (whole(start) && whole(end) && whole(step)) {
    const DType i = DType::Int64;
    return g.cast(g.node("Range", {g.scalar(start, i), g.scalar(end, i), g.scalar(step, i)}), t);
  }
  const DType d = DType::Double;
  Value a = g.scalar(start, d), s = g.scalar(step, d);
  Value steps = pw::div(g, pw::sub(g, g.scalar(end, d), a), s);
  Value n = g.cast(g.node("Ceil", {steps}), DType::Int64);
  Value i = g.cast(g.node("Range", {g.i64(0), n, g.i64(1)}), d);
  return g.cast(pw::add(g, a, pw::mul(g, i, s)), t);
}

// As arange with the end included: floor((end - start) / step) + 1 elements.
Value range(Emit& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType d = DType::Double;
  Value a = g.scalar(start, d), s = g.scalar(step, d);
  Value steps = pw::div(g, pw::sub(g, g.scalar(end, d), a), s);
  Value n = pw::add(g, g.cast(g.node("Floor", {steps}), DType::Int64), g.i64(1));
  Value i = g.cast(g.node("Range", {g.i64(0), n, g.i64(1)}), d);
  return g.cast(pw::add(g, a, pw::mul(g, i, s)), g.result_dtype());
}

// ATen goes from the nearer end: start + i * step in the first half, end - (n - 1 - i) * step in
// the second. One step is the start alone.
Value linspace(Emit& g, Value start, Value end, const Int& steps) {
  const DType t = g.result_dtype();
  const DType c = t == DType::Double || !is_float(t) ? DType::Double : DType::Float;
  start = g.cast(start, c), end = g.cast(end, c);
  Value n = g.to_value(steps);
  Value last = pw::sub(g, n, g.i64(1));
  Value gaps = g.cast(g.node("Max", {last, g.i64(1)}), c);
  Value step = pw::div(g, pw::sub(g, end, start), gaps);
  Value i = g.node("Range", {g.i64(0), n, g.i64(1)});
  Value low = pw::add(g, start, pw::mul(g, step, g.cast(i, c)));
  Value high = pw::sub(g, end, pw::mul(g, step, g.cast(pw::sub(g, last, i), c)));
  Value first_half = pw::less(g, i, pw::div(g, n, g.i64(2)));
  Value only_start = g.node("Equal", {last, i});  // i == last == 0
  only_start = pw::both(g, only_start, g.node("Equal", {n, g.i64(1)}));
  Value y = pw::where(g, pw::either(g, first_half, only_start), low, high);
  return is_float(t) ? y : pw::trunc(g, y);
}

Value logspace(Emit& g, Value start, Value end, const Int& steps, double base) {
  Value exponent = linspace(g, start, end, steps);
  return g.node("Pow", {g.number(base, g.dtype(exponent)), exponent});
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
