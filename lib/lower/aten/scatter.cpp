// Writes into a tensor at computed places: scatter, index_add and their kin.
// https://onnx.ai/onnx/operators/onnx__ScatterElements.html
#include <algorithm>
#include <limits>

#include "lib/lower/aten/scatter_build.h"

namespace oe::lower {
namespace shape {
namespace {

// What leaves every number as it is under a reduction.
Value neutral(Emit& g, std::string_view reduce, DType t) {
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

Value emit_scatter(Emit& g, Value x, int64_t axis, Value index, Value src, std::string_view how) {
  ir::Attributes a{{"axis", axis}};
  if (!how.empty()) a.set("reduction", std::string(how));
  return with_dims(g.node("ScatterElements", {x, index, src}, std::move(a)), *x->type.shape);
}

}  // namespace

Value scatter_elements(Emit& g, Value x, int64_t axis, Value index, Value src,
                       std::string_view reduce, bool include_self) {
  const DType t = g.dtype(x);
  index = g.cast(index, DType::Int64);
  src = g.cast(src, t);
  const int64_t rank = g.rank(x);
  if (!same_static(index, src)) {  // the first entries of src on every axis
    Ints zeros(static_cast<size_t>(rank), 0);
    src = with_rank(g.node("Slice", {src, g.i64s(zeros), g.shape(index), g.i64s(range(0, rank))}),
                    rank);
  }
  if (reduce.empty()) return emit_scatter(g, x, axis, index, src, "");
  if (t == DType::Bool) {  // numbers 0 and 1: sum is "or", prod is "and"
    const std::string_view how = reduce == "sum" || reduce == "amax" ? "amax" : "amin";
    Value y = scatter_elements(g, g.cast(x, DType::Int32), axis, index, g.cast(src, DType::Int32),
                               how, include_self);
    return g.cast(y, DType::Bool);
  }
  Value base = x;
  if (!include_self) {
    Value blank = expanded(g, neutral(g, reduce, t), g.shape(index), rank);
    base = emit_scatter(g, x, axis, index, blank, "");
  }
  const std::string_view how = reduce == "prod"   ? "mul"
                               : reduce == "amax" ? "max"
                               : reduce == "amin" ? "min"
                                                  : "add";
  Value y = emit_scatter(g, base, axis, index, src, how);
  if (reduce != "mean") return y;
  Value first = expanded(g, g.integer(include_self ? 1 : 0, t), g.shape(x), rank);
  with_dims(first, *x->type.shape);
  Value ones = expanded(g, g.integer(1, t), g.shape(index), rank);
  Value count = g.node("Max", {emit_scatter(g, first, axis, index, ones, "add"), g.integer(1, t)});
  Value mean = div(g, y, count);
  if (!is_float(t)) {  // rounded down, where Div rounds to zero
    Value rest = g.node("Mod", {y, count});
    mean = div(g, sub(g, y, rest), count);
  }
  return with_dims(mean, *x->type.shape);
}

Value scatter_slices(Emit& g, Value x, int64_t axis, Value index, Value src,
                     std::string_view reduce, bool include_self) {
  const int64_t rank = g.rank(x);
  Value whole = along(g, g.cast(index, DType::Int64), axis, rank);
  whole = expanded(g, whole, g.shape(src), rank);
  if (src->type.shape) whole->type.shape = src->type.shape;
  return scatter_elements(g, x, axis, whole, src, reduce, include_self);
}

}  // namespace shape

namespace {

using namespace shape;

// 0-d operands work as tensors of one element.
Value scatter(Emit& g, Value x, int64_t dim, Value index, Value src, std::string_view reduce,
              bool include_self = true) {
  const int64_t axis = g.axis(x, dim);
  Value y = scatter_elements(g, at_least_1d(g, x), axis, at_least_1d(g, index), at_least_1d(g, src),
                             reduce, include_self);
  return g.rank(x) == 0 ? to_0d(g, y) : y;
}

Value scatter_value(Emit& g, Value x, int64_t dim, Value index, const Scalar& v,
                    std::string_view reduce) {
  Value i = at_least_1d(g, index);
  Value src = expanded(g, g.scalar(v, g.dtype(x)), g.shape(i), g.rank(i));
  src->type.shape = i->type.shape;
  return scatter(g, x, dim, i, src, reduce);
}

// scatter's own names for what scatter_reduce calls sum and prod.
std::string_view reduction(const std::string& name) {
  return name == "add" ? "sum" : name == "multiply" ? "prod" : std::string_view(name);
}

Value index_write(Emit& g, Value x, int64_t dim, Value index, Value src, std::string_view reduce,
                  bool include_self = true) {
  const int64_t axis = g.axis(x, dim);
  Value base = at_least_1d(g, x), s = at_least_1d(g, g.cast(src, g.dtype(x)));
  // One row without its axis.
  if (g.rank(s) < g.rank(base)) s = unsqueezed(g, s, {axis});
  Value y = scatter_slices(g, base, axis, at_least_1d(g, index), s, reduce, include_self);
  return g.rank(x) == 0 ? to_0d(g, y) : y;
}

Value index_add(Emit& g, Value x, int64_t dim, Value index, Value src, const Scalar& alpha) {
  Value s = g.cast(src, g.dtype(x));
  if (!alpha.known || alpha.d != 1) {
    Value scaled = mul(g, s, g.scalar(alpha, g.dtype(x)));
    s = with_dims(scaled, *s->type.shape);
  }
  return index_write(g, x, dim, index, s, "sum");
}

// Marks the entries of the axis, so that nothing of the size of x is scattered.
Value index_fill(Emit& g, Value x, int64_t dim, Value index, Value value) {
  const int64_t axis = g.axis(x, dim);
  Value base = at_least_1d(g, x);
  Value i = at_least_1d(g, g.cast(index, DType::Int64));
  Value none = expanded(g, g.integer(0, DType::Int32), g.to_vector({nn::dim(g, base, axis)}), 1);
  Value one = expanded(g, g.integer(1, DType::Int32), g.shape(i), 1);
  Value hit =
      g.cast(g.node("ScatterElements", {none, i, one}, {{"axis", int64_t{0}}}), DType::Bool);
  Value mask = along(g, with_rank(hit, 1), axis, g.rank(base));
  Value y = g.node("Where", {mask, g.cast(value, g.dtype(x)), base});
  with_dims(y, *base->type.shape);
  return g.rank(x) == 0 ? to_0d(g, y) : y;
}

// The elements of source in order, to the places of the mask.
Value masked_scatter(Emit& g, Value x, Value mask, Value source) {
  const Values both = broadcast(g, {x, g.cast(mask, DType::Bool)});
  Value base = at_least_1d(g, both[0]), m = at_least_1d(g, both[1]);
  Value places = with_rank(g.node("NonZero", {m}), 2);
  Value elements = cut(g, flat(g, g.cast(source, g.dtype(x))), 0, known(0), nn::dim(g, places, 1));
  Value y = g.node("ScatterND", {base, permuted(g, places, {1, 0}), elements});
  with_dims(y, *base->type.shape);
  return g.rank(both[0]) == 0 ? to_0d(g, y) : y;
}

Value put(Emit& g, Value x, Value index, Value source, bool accumulate) {
  Value y =
      scatter_elements(g, flat(g, x), 0, flat(g, index), flat(g, source), accumulate ? "sum" : "");
  return g.rank(x) == 0 ? to_0d(g, y) : restore(g, y, x);
}

constexpr Lowering table[] = {
    op("aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src) {
         return scatter(g, x, dim, i, src, "");
       }),
    op("aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Scalar v) {
         return scatter_value(g, x, dim, i, v, "");
       }),
    op("aten::scatter.reduce(Tensor self, int dim, Tensor index, Tensor src, *, str reduce) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src, std::string r) {
         return scatter(g, x, dim, i, src, reduction(r));
       }),
    op("aten::scatter.value_reduce(Tensor self, int dim, Tensor index, Scalar value, *, str reduce) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Scalar v, std::string r) {
         return scatter_value(g, x, dim, i, v, reduction(r));
       }),
    op("aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src) {
         return scatter(g, x, dim, i, src, "sum");
       }),
    op("aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src, std::string r, bool self) {
         return scatter(g, x, dim, i, src, r, self);
       }),
    op("aten::index_add(Tensor self, int dim, Tensor index, Tensor source, *, Scalar alpha=1) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src, Scalar alpha) {
         return index_add(g, x, dim, i, src, alpha);
       }),
    op("aten::index_copy(Tensor self, int dim, Tensor index, Tensor source) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src) {
         return index_write(g, x, dim, i, src, "");
       }),
    op("aten::index_reduce(Tensor self, int dim, Tensor index, Tensor source, str reduce, *, bool include_self=True) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value src, std::string r, bool self) {
         return index_write(g, x, dim, i, src, r, self);
       }),
    op("aten::index_fill.int_Scalar(Tensor self, int dim, Tensor index, Scalar value) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Scalar v) {
         return index_fill(g, x, dim, i, g.scalar(v, g.dtype(x)));
       }),
    op("aten::index_fill.int_Tensor(Tensor self, int dim, Tensor index, Tensor value) -> Tensor",
       [](Emit& g, Value x, int64_t dim, Value i, Value v) { return index_fill(g, x, dim, i, v); }),
    op("aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
       [](Emit& g, Value x, Value mask, Value src) { return masked_scatter(g, x, mask, src); }),
    op("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor",
       [](Emit& g, Value x, Value i, Value src, bool accumulate) {
         return put(g, x, i, src, accumulate);
       }),
};

}  // namespace

Table scatter_rows() { return table; }

}  // namespace oe::lower
