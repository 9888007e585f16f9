// Writes into a tensor at computed places: scatter, index_add and their kin.
// https://onnx.ai/onnx/operators/onnx__ScatterElements.html
#include <algorithm>
#include <limits>

#include "lib/lower/aten/scatter_build.h"

namespace oe::lower {
namespace {

// What leaves every number as it is under a reduction.
T neutral(Call& g, std::string_view reduce, DType t) {
  if (reduce == "sum" || reduce == "mean") return g.integer(0, t);
  if (reduce == "prod") return g.integer(1, t);
  const bool lowest = reduce == "amax";
  if (is_float(t)) {
    const double inf = std::numeric_limits<double>::infinity();
    return g.number(lowest ? -inf : inf, t);
  }
  const int bits = static_cast<int>(8 * byte_size(t));
  if (!is_signed_integer(t))
    return g.integer(lowest ? 0 : static_cast<int64_t>((uint64_t{1} << (bits - 1)) * 2 - 1), t);
  const int64_t top = bits == 64 ? INT64_MAX : (int64_t{1} << (bits - 1)) - 1;
  return g.integer(lowest ? -top - 1 : top, t);
}

T emit_scatter(T x, int64_t axis, T index, T src, std::string_view how) {
  ir::Attributes a{{"axis", axis}};
  if (!how.empty()) a.set("reduction", std::string(how));
  return with_dims(node("ScatterElements", {x, index, src}, std::move(a)), *x->type.shape);
}

}  // namespace

T scatter_elements(Call& g, T x, int64_t axis, T index, T src, std::string_view reduce,
                   bool include_self) {
  const DType t = x.dtype();
  index = cast(index, DType::Int64);
  src = cast(src, t);
  const int64_t rank = x.rank();
  if (!same_static(index, src)) {  // the first entries of src on every axis
    Ints zeros(static_cast<size_t>(rank), 0);
    src =
        with_rank(node("Slice", {src, g.i64s(zeros), shape(index), g.i64s(range(0, rank))}), rank);
  }
  if (reduce.empty()) return emit_scatter(x, axis, index, src, "");
  if (t == DType::Bool) {  // numbers 0 and 1: sum is "or", prod is "and"
    const std::string_view how = reduce == "sum" || reduce == "amax" ? "amax" : "amin";
    T y = scatter_elements(g, cast(x, DType::Int32), axis, index, cast(src, DType::Int32), how,
                           include_self);
    return cast(y, DType::Bool);
  }
  if (narrow_float(t)) {  // ONNX Runtime only writes these, and Loop, of opsets without, has none
    T y = scatter_elements(g, cast(x, DType::Float), axis, index, cast(src, DType::Float), reduce,
                           include_self);
    return cast(y, t);
  }
  T base = x;
  if (!include_self) {
    T blank = expand(neutral(g, reduce, t), shape(index), rank);
    base = emit_scatter(x, axis, index, blank, "");
  }
  const std::string_view how = reduce == "prod"   ? "mul"
                               : reduce == "amax" ? "max"
                               : reduce == "amin" ? "min"
                                                  : "add";
  T y = emit_scatter(base, axis, index, src, how);
  if (reduce != "mean") return y;
  T first = expand(g.integer(include_self ? 1 : 0, t), shape(x), rank);
  with_dims(first, *x->type.shape);
  T ones = expand(g.integer(1, t), shape(index), rank);
  T count = maximum(emit_scatter(first, axis, index, ones, "add"), 1);
  T mean = y / count;
  if (!is_float(t)) {  // rounded down, where Div rounds to zero
    T rest = node("Mod", {y, count});
    mean = (y - rest) / count;
  }
  return with_dims(mean, *x->type.shape);
}

T scatter_slices(Call& g, T x, int64_t axis, T index, T src, std::string_view reduce,
                 bool include_self) {
  const int64_t rank = x.rank();
  T whole = along(cast(index, DType::Int64), axis, rank);
  whole = expand(whole, shape(src), rank);
  if (src->type.shape) whole->type.shape = src->type.shape;
  return scatter_elements(g, x, axis, whole, src, reduce, include_self);
}

namespace {

// 0-d operands work as tensors of one element.
T scatter_reduce(Call& g, T x, Axis axis, T index, T src, std::string_view reduce,
                 bool include_self = true) {
  T y = scatter_elements(g, at_least_1d(x), axis, at_least_1d(index), at_least_1d(src), reduce,
                         include_self);
  return x.rank() == 0 ? to_0d(y) : y;
}

// scatter's own names for what scatter_reduce calls sum and prod.
std::string_view reduction(const std::string& name) {
  return name == "add" ? "sum" : name == "multiply" ? "prod" : std::string_view(name);
}
T scatter_named(Call& g, T x, Axis axis, T index, T src, const std::string& reduce) {
  return scatter_reduce(g, x, axis, index, src, reduction(reduce));
}

// A number in every place.
T scatter_value(Call& g, T x, Axis axis, T index, T value, const std::string& reduce) {
  T i = at_least_1d(index);
  T src = expand(cast(value, x.dtype()), shape(i), i.rank());
  src->type.shape = i->type.shape;
  return scatter_named(g, x, axis, i, src, reduce);
}

T index_reduce(Call& g, T x, Axis axis, T index, T src, const std::string& reduce,
               bool include_self = true) {
  T base = at_least_1d(x), s = at_least_1d(cast(src, x.dtype()));
  // One row without its axis.
  if (s.rank() < base.rank()) s = unsqueeze(s, {axis});
  T y = scatter_slices(g, base, axis, at_least_1d(index), s, reduce, include_self);
  return x.rank() == 0 ? to_0d(y) : y;
}

// Rows are copied whole.
T index_copy(Call& g, T x, Axis axis, T index, T src) {
  if (axis != 0 || x.rank() < 1 || src.rank() != x.rank())
    return index_reduce(g, x, axis, index, src, "");
  T places = unsqueeze(at_least_1d(cast(index, DType::Int64)), {1});
  T y = node("ScatterND", {x, places, cast(src, x.dtype())});
  return with_dims(y, *x->type.shape);
}

T index_add(Call& g, T x, Axis axis, T index, T src, const Scalar& alpha) {
  T s = cast(src, x.dtype());
  if (!alpha.known || alpha.d != 1) {
    T scaled = s * g.scalar(alpha, x.dtype());
    s = with_dims(scaled, *s->type.shape);
  }
  return index_reduce(g, x, axis, index, s, "sum");
}

// Marks the entries of the axis, so that nothing of the size of x is scattered.
T index_fill(Call& g, T x, Axis axis, T index, T value) {
  T base = at_least_1d(x);
  T i = at_least_1d(cast(index, DType::Int64));
  T none = expand(g.integer(0, DType::Int32), g.vector({size_of(base, axis)}), 1);
  T one = expand(g.integer(1, DType::Int32), shape(i), 1);
  T hit = cast(node("ScatterElements", {none, i, one}, {{"axis", int64_t{0}}}), DType::Bool);
  T mask = along(with_rank(hit, 1), axis, base.rank());
  T y = where(mask, cast(value, x.dtype()), base);
  with_dims(y, *base->type.shape);
  return x.rank() == 0 ? to_0d(y) : y;
}

// The elements of source in order, to the places of the mask.
T masked_scatter(T x, T mask, T source) {
  const Values both = broadcast({x, cast(mask, DType::Bool)});
  T base = at_least_1d(both[0]), m = at_least_1d(both[1]);
  T places = with_rank(unary("NonZero", m), 2);
  T elements = slice(flat(cast(source, x.dtype())), 0, known(0), size_of(places, 1));
  T y = node("ScatterND", {base, transpose(places, {1, 0}), elements});
  with_dims(y, *base->type.shape);
  return both[0].rank() == 0 ? to_0d(y) : y;
}

T put(Call& g, T x, T index, T source, bool accumulate) {
  T y = scatter_elements(g, flat(x), 0, flat(index), flat(source), accumulate ? "sum" : "");
  return x.rank() == 0 ? to_0d(y) : restore(y, x);
}

constexpr Lowering table[] = {
    op("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       [](Call& g, T x, Axis axis, T i, T src) { return scatter_reduce(g, x, axis, i, src, ""); }),
    op("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
       [](Call& g, T x, Axis axis, T i, T value) {
         return scatter_value(g, x, axis, i, value, "");
       }),
    op<scatter_named>(
        "aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor"),
    op<scatter_value>(
        "aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor"),
    op("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       [](Call& g, T x, Axis axis, T i, T src) {
         return scatter_reduce(g, x, axis, i, src, "sum");
       }),
    op("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
       [](Call& g, T x, Axis axis, T i, T src, const std::string& reduce, bool include_self) {
         return scatter_reduce(g, x, axis, i, src, reduce, include_self);
       }),
    op<index_add>(
        "aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor"),
    op<index_copy>("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor"),
    op<index_reduce>(
        "aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor"),
    op<index_fill>(
        "aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor"),
    op<index_fill>(
        "aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor"),
    op<masked_scatter>("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor"),
    op<put>("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor"),
};

}  // namespace

Table scatter_rows() { return table; }

}  // namespace oe::lower
