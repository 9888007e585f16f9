// Tensors made from sizes and numbers.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T filled(T shape, T value) { return expand(value, shape); }

// A known number goes into ConstantOfShape, a computed one is expanded.
T full(Call& g, T shape, const Scalar& s) {
  const DType t = g.result_dtype();
  if (!s.known) return filled(shape, g.scalar(s, t));
  const T v = g.scalar(s, t);
  const auto* bytes = static_cast<const char*>(v->data->data());
  return node("ConstantOfShape", {shape},
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
constexpr auto sized = [](Call& g, const Dims& size, Skip, Skip, Skip, Skip) {
  return full(g, g.vector(size), integer(N));
};
// Memory that ATen leaves unwritten: any content is right.
constexpr auto empty_format = [](Call& g, const Dims& size, Skip, Skip, Skip, Skip, Skip) {
  return full(g, g.vector(size), integer(0));
};
template <int64_t N>
constexpr auto like =
    [](Call& g, T x, Skip, Skip, Skip, Skip, Skip) { return full(g, shape(x), integer(N)); };
template <int64_t N>
constexpr auto new_sized = [](Call& g, Skip, const Dims& size, Skip, Skip, Skip, Skip) {
  return full(g, g.vector(size), integer(N));
};

bool whole(const Scalar& s) { return s.kind != Scalar::Kind::Float; }

// A bound as LibTorch's kernels take it: a number given for an integer tensor loses its fraction
// before anything is computed with it.
T bound(Call& g, const Scalar& s, DType t) {
  return g.scalar(s, is_float(t) ? DType::Double : DType::Int64);
}

// start + i * step for i below n.
T steps_from(Call& g, T start, T n, T step) {
  T i = cast(node("Range", {g.i64(0), n, g.i64(1)}), start.dtype());
  return cast(start + i * step, g.result_dtype());
}

// start, start + step, ... below end: ceil((end - start) / step) elements. They are counted in
// float64 with the bounds as they are given, but for int64 in int64; the elements are made from
// bounds in the accumulate type of the result (ATen/native/RangeFactories.cpp).
T arange(Call& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType t = g.result_dtype();
  if (t == DType::Int64 || (whole(start) && whole(end) && whole(step))) {
    const DType i = DType::Int64;
    return cast(node("Range", {g.scalar(start, i), g.scalar(end, i), g.scalar(step, i)}), t);
  }
  const DType d = DType::Double;
  T length = g.scalar(end, d) - g.scalar(start, d);
  T n = cast(ceil(length / g.scalar(step, d)), DType::Int64);
  return steps_from(g, bound(g, start, t), n, bound(g, step, t));
}

// As arange with the end included: trunc((end - start) / step) + 1 elements, counted in the
// accumulate type.
T range(Call& g, const Scalar& start, const Scalar& end, const Scalar& step) {
  const DType t = g.result_dtype();
  T a = bound(g, start, t), s = bound(g, step, t);
  T steps = (bound(g, end, t) - a) / s;
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

T linspace(Call& g, T start, T end, const Int& steps) {
  const DType t = g.result_dtype();
  const DType c = t == DType::Double || !is_float(t) ? DType::Double : DType::Float;
  return cast(evenly_spaced(g, start, end, g.value(steps), c), t);
}

// The exponents of a single step are the start as it is given.
T logspace(Call& g, T start, T end, const Int& steps, double base) {
  const DType d = DType::Double;
  T n = g.value(steps);
  T exponents = evenly_spaced(g, start, end, n, d);
  if (steps.known.value_or(1) == 1) exponents = where(equal(n, 1), cast(start, d), exponents);
  return cast(node("Pow", {g.number(base, d), exponents}), g.result_dtype());
}

T number(Call& g, const Scalar& s) { return g.scalar(s, DType::Double); }

// Ones where the row is the column.
T eye(Call& g, const Int& rows, const Int& columns) {
  const DType t = g.result_dtype();
  return node("EyeLike", {full(g, g.vector({rows, columns}), integer(0))},
              {{"dtype", static_cast<int64_t>(t)}});
}

// Nested lists of numbers, row by row; capture folds them unless a number is computed.
T from_list(Call& g, const Values& numbers) {
  Values pieces;
  for (T v : numbers) pieces.push_back(unsqueeze(cast(v, g.result_dtype()), {0}));
  if (pieces.empty()) return full(g, g.i64s({0}), integer(0));
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

constexpr auto of_number = [](Call& g, const Scalar& s, Skip, Skip, Skip) {
  return g.scalar(s, g.result_dtype());
};
constexpr auto as_number = [](Call& g, const Scalar& s, Skip, Skip) {
  return g.scalar(s, g.result_dtype());
};

constexpr Lowering table[] = {
    op("aten::zeros(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       sized<0>),
    op("aten::ones(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       sized<1>),
    op("aten::full(SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Dims& size, const Scalar& s, Skip, Skip, Skip, Skip) {
         return full(g, g.vector(size), s);
       }),
    op("aten::empty.memory_format(SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       empty_format),
    op("aten::empty_strided(SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       empty_format),
    op(names("aten::zeros_like", "aten::empty_like"),
       "(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<0>),
    op("aten::ones_like(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       like<1>),
    op("aten::full_like(Tensor self, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None, MemoryFormat? memory_format=None) -> Tensor",
       [](Call& g, T x, const Scalar& s, Skip, Skip, Skip, Skip, Skip) {
         return full(g, shape(x), s);
       }),
    op(names("aten::new_zeros", "aten::new_empty"),
       "(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       new_sized<0>),
    op("aten::new_ones(Tensor self, SymInt[] size, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       new_sized<1>),
    op("aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Skip, const Dims& size, const Scalar& s, Skip, Skip, Skip, Skip) {
         return full(g, g.vector(size), s);
       }),
    op("aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, Skip, const Dims& size, Skip, Skip, Skip, Skip, Skip) {
         return full(g, g.vector(size), integer(0));
       }),
    op("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor",
       [](Call& g, T x, const Scalar& s) { return full(g, shape(x), s); }),
    op("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor",
       [](T x, T v) { return filled(shape(x), cast(v, x.dtype())); }),
    op("aten::zero(Tensor self) -> Tensor",
       [](Call& g, T x) { return full(g, shape(x), integer(0)); }),
    op("aten::arange(Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& end, Skip, Skip, Skip, Skip) {
         return arange(g, integer(0), end, integer(1));
       }),
    op("aten::arange.start(Scalar start, Scalar end, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, const Scalar& end, Skip, Skip, Skip, Skip) {
         return arange(g, start, end, integer(1));
       }),
    op("aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, const Scalar& end, const Scalar& step, Skip, Skip, Skip,
          Skip) { return arange(g, start, end, step); }),
    op("aten::range.step(Scalar start, Scalar end, Scalar step=1, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, const Scalar& end, const Scalar& step, Skip, Skip, Skip,
          Skip) { return range(g, start, end, step); }),
    op("aten::_dim_arange(Tensor like, int dim) -> Tensor",
       [](Call& g, T x, int64_t dim) {
         return node("Range", {g.i64(0), size(x, dim), g.i64(1)});
       }),
    op("aten::linspace(Scalar start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, const Scalar& end, const Int& steps, Skip, Skip, Skip,
          Skip) { return linspace(g, number(g, start), number(g, end), steps); }),
    op("aten::linspace.Tensor_Tensor(Tensor start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, T start, T end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, start, end, steps);
       }),
    op("aten::linspace.Tensor_Scalar(Tensor start, Scalar end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, T start, const Scalar& end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, start, number(g, end), steps);
       }),
    op("aten::linspace.Scalar_Tensor(Scalar start, Tensor end, int steps, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, T end, const Int& steps, Skip, Skip, Skip, Skip) {
         return linspace(g, number(g, start), end, steps);
       }),
    op("aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& start, const Scalar& end, const Int& steps, double base, Skip,
          Skip, Skip, Skip) { return logspace(g, number(g, start), number(g, end), steps, base); }),
    op("aten::eye(SymInt n, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Int& n, Skip, Skip, Skip, Skip) { return eye(g, n, n); }),
    op("aten::eye.m(SymInt n, SymInt m, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Int& n, const Int& m, Skip, Skip, Skip, Skip) { return eye(g, n, m); }),
    op("aten::scalar_tensor(Scalar s, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor",
       [](Call& g, const Scalar& s, Skip, Skip, Skip, Skip) {
         return g.scalar(s, g.result_dtype());
       }),
    op("aten::tensor.int(int t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor.float(float t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       of_number),
    op("aten::tensor(t[] data, *, ScalarType? dtype=None, Device? device=None, bool requires_grad=False) -> Tensor",
       [](Call& g, const Values& numbers, Skip, Skip, Skip) { return from_list(g, numbers); }),
    op("aten::as_tensor(Tensor data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       [](Call& g, T x, Skip, Skip) { return cast(x, g.result_dtype()); }),
    op("aten::as_tensor.int(int t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.float(float t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.bool(bool t, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       as_number),
    op("aten::as_tensor.list(t[] data, *, ScalarType? dtype=None, Device? device=None) -> Tensor",
       [](Call& g, const Values& numbers, Skip, Skip) { return from_list(g, numbers); }),
};

}  // namespace

Table creation_rows() { return table; }

}  // namespace oe::lower
