// Node builders shared by the neural-network families.
#include "lib/lower/aten/nn_build.h"

#include <numeric>

#include "lib/lower/aten/reduce.h"

namespace oe::lower::nn {

Value reshape(Emit& g, Value x, const Ints& shape) { return g.node("Reshape", {x, g.i64s(shape)}); }

Value reshape(Emit& g, Value x, const Dims& shape) {
  Ints fixed;
  int computed = 0;
  bool zero = false;
  for (const Int& i : shape) {
    fixed.push_back(i.known.value_or(-1));
    computed += !i.known;
    zero = zero || i.known == 0;
  }
  // -1 beside a 0 has no answer, and a plain 0 would mean "copy the axis".
  if (zero) return g.node("Reshape", {x, g.to_vector(shape)}, {{"allowzero", int64_t{1}}});
  if (computed <= 1) return reshape(g, x, fixed);
  return g.node("Reshape", {x, g.to_vector(shape)});
}

Value unsqueeze(Emit& g, Value x, const Ints& axes) {
  return axes.empty() ? x : g.node("Unsqueeze", {x, g.i64s(axes)});
}

Value squeeze(Emit& g, Value x, const Ints& axes) {
  return axes.empty() ? x : g.node("Squeeze", {x, g.i64s(axes)});
}

Value transpose(Emit& g, Value x, const Ints& perm) {
  bool identity = true;
  for (size_t i = 0; i < perm.size(); ++i)
    identity = identity && perm[i] == static_cast<int64_t>(i);
  return identity ? x : g.node("Transpose", {x}, {{"perm", perm}});
}

Value swap(Emit& g, Value x, int64_t rank, int64_t a, int64_t b) {
  Ints perm = range(0, rank);
  std::swap(perm[a], perm[b]);
  return transpose(g, x, perm);
}

Value concat(Emit& g, const Values& v, int64_t axis) {
  return v.size() == 1 ? v[0] : g.node("Concat", v, {{"axis", axis}});
}

Value slice(Emit& g, Value x, int64_t axis, Int start, Int end) {
  return g.node("Slice", {x, g.to_vector({start}), g.to_vector({end}), g.i64s({axis})});
}

Value expand(Emit& g, Value x, const Dims& shape) {
  return g.node("Expand", {x, g.to_vector(shape)});
}

namespace {

std::optional<int64_t> known_scalar(Value v) {
  if (!v->data || v->data->numel() != 1) return std::nullopt;
  return v->data->as_int64()[0];
}

// ONNX Runtime makes a Slice of a Gather at a Range, in which numbers below 0 mean something else.
bool range_below_zero(Value v) {
  if (!v->producer || !v->producer->is("Range")) return false;
  const auto start = known_scalar(v->producer->inputs[0]),
             step = known_scalar(v->producer->inputs[2]);
  return !start || *start < 0 || !step || *step <= 0;
}

}  // namespace

Value gather(Emit& g, Value x, Value indices, int64_t axis) {
  if (range_below_zero(indices)) {
    const auto shape = indices->type.shape;
    Value negative = g.node("Less", {indices, g.i64(0)});
    indices = g.node("Where", {negative, add(g, indices, g.size(x, axis)), indices});
    indices->type.shape = shape;
  }
  return g.node("Gather", {x, indices}, {{"axis", axis}});
}

Values split(Emit& g, Value x, int64_t axis, const Ints& sizes) {
  if (sizes.size() == 1) return {x};
  return g.nodes("Split", {x, g.i64s(sizes)}, {{"axis", axis}}, sizes.size());
}

Value reduce(Emit& g, std::string_view op, Value x, const Ints& axes, bool keepdims) {
  ir::Attributes a{{"keepdims", int64_t{keepdims}}};
  if (axes.empty()) return g.node(op, {x}, std::move(a));
  return g.node(op, {x, g.i64s(axes)}, std::move(a));
}

Value matmul(Emit& g, Value a, Value b) { return g.node("MatMul", {a, b}); }

Value weigh_axis(Emit& g, Value x, int64_t rank, int64_t axis, Value m) {
  if (axis == rank - 2) return matmul(g, transpose(g, m, {1, 0}), x);
  Value y = matmul(g, swap(g, x, rank, axis, rank - 1), m);
  return swap(g, y, rank, axis, rank - 1);
}

Dims to_dims(const Ints& v) {
  Dims d;
  for (int64_t i : v) d.push_back(known(i));
  return d;
}

Int dim(Emit& g, Value x, int64_t axis) {
  if (x->type.shape) {
    if (auto n = g.dim(x, axis)) return known(*n);
  }
  return {std::nullopt, g.size(x, axis)};
}

Dims dims(Emit& g, Value x, int64_t rank) {
  Dims d;
  for (int64_t i = 0; i < rank; ++i) d.push_back(dim(g, x, i));
  return d;
}

Int add(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known + *b.known);
  if (a.known == 0) return b;
  if (b.known == 0) return a;
  return {std::nullopt, add(g, g.to_value(a), g.to_value(b))};
}

Int sub(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known - *b.known);
  if (b.known == 0) return a;
  return {std::nullopt, sub(g, g.to_value(a), g.to_value(b))};
}

Int mul(Emit& g, const Int& a, const Int& b) {
  if (a.known && b.known) return known(*a.known * *b.known);
  if (a.known == 1) return b;
  if (b.known == 1) return a;
  return {std::nullopt, mul(g, g.to_value(a), g.to_value(b))};
}

Int floor_div(Emit& g, const Int& a, int64_t b) {
  if (b == 1) return a;
  if (a.known) return known(*a.known / b);
  return {std::nullopt, div(g, g.to_value(a), g.i64(b))};
}

Int product(Emit& g, const Dims& d) {
  Int p = known(1);
  for (const Int& i : d) p = mul(g, p, i);
  return p;
}

Value iota(Emit& g, const Int& n) {
  if (n.known && *n.known <= 65536) return g.i64s(range(0, *n.known));
  return g.node("Range", {g.i64(0), g.to_value(n), g.i64(1)});
}

Value floats(Emit& g, DType t, const Ints& shape, const std::vector<double>& values) {
  if (t == DType::Double) return g.tensor(Tensor::of<double>(t, shape, values));
  std::vector<float> single(values.begin(), values.end());
  return g.cast(g.tensor(Tensor::of<float>(DType::Float, shape, single)), t);
}

Value filled(Emit& g, DType t, const Ints& shape, double value) {
  int64_t n = 1;
  for (int64_t i : shape) n *= i;
  return floats(g, t, shape, std::vector<double>(static_cast<size_t>(n), value));
}

Value filled(Emit& g, DType t, const Dims& shape, double value) {
  if (shape.empty()) return g.number(value, t);
  return expand(g, g.number(value, t), shape);
}

Ints per_axis(const Ints& v, size_t n, int64_t fallback) {
  if (v.empty()) return Ints(n, fallback);
  if (v.size() == 1) return Ints(n, v[0]);
  return v;
}

Ints range(int64_t from, int64_t to) {
  Ints r(static_cast<size_t>(std::max<int64_t>(to - from, 0)));
  std::iota(r.begin(), r.end(), from);
  return r;
}

bool narrow_float(DType t) { return t == DType::Float16 || t == DType::BFloat16; }

Value reduction(Emit& g, Value loss, int64_t kind) {
  if (kind == 0) return loss;
  return kind == 1 ? red::mean(g, loss, std::nullopt, false)
                   : reduce(g, "ReduceSum", loss, {}, false);
}

}  // namespace oe::lower::nn
