// Running sums, products and extremes along an axis.
#include <cmath>
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

Value cumsum(Emit& g, Value x, int64_t dim, Skip) {
  x = g.cast(x, g.result_dtype());
  if (g.rank(x) == 0) return x;
  return g.node("CumSum", {x, g.i64(g.axis(x, dim))});
}

// One more place on every axis that may be empty: ONNX Runtime scans no empty axis, and dies of
// empty slices. The places behind the end reach no other.
Value with_room(Emit& g, Value x) {
  Ints pads(static_cast<size_t>(2 * g.rank(x)), 0);
  for (int64_t a = 0; a < g.rank(x); ++a)
    pads[static_cast<size_t>(g.rank(x) + a)] = g.dim(x, a).value_or(0) > 0 ? 0 : 1;
  Value out = g.node("Pad", {x, g.i64s(pads)});
  std::vector<Dim> dims;
  for (int64_t a = 0; a < g.rank(x); ++a) {
    const auto size = g.dim(x, a);
    dims.push_back(size ? Dim::of(std::max<int64_t>(*size, 1)) : Dim::unknown());
  }
  out->type.shape = std::move(dims);
  return out;
}

Value without_room(Emit& g, Value y, Value x) {
  Ints axes;
  Dims ends;
  for (int64_t a = 0; a < g.rank(x); ++a) {
    if (g.dim(x, a).value_or(0) > 0) continue;
    axes.push_back(a);
    ends.push_back(g.dim(x, a) ? Int{g.dim(x, a), nullptr} : Int{std::nullopt, g.size(x, a)});
  }
  return g.node("Slice", {y, g.i64s(Ints(axes.size(), 0)), g.to_vector(ends), g.i64s(axes)});
}

// A Scan along `dim`: every step gets the slice and the state and returns the new state, which is
// also the result for that place. `start` are 0-d values that fill the first state.
Values scan(Emit& g, Value whole, int64_t dim, const Values& start,
            const std::function<Values(const Values& state, Value slice)>& step) {
  bool room = false;
  for (int64_t a = 0; a < g.rank(whole); ++a) room |= g.dim(whole, a).value_or(0) == 0;
  const int64_t axis = g.axis(whole, dim);
  Value x = room ? with_room(g, whole) : whole;
  Value slice_shape = nullptr;
  {
    Dims dims;
    for (int64_t a = 0; a < g.rank(x); ++a)
      if (a != axis)
        dims.push_back(g.dim(x, a) ? Int{g.dim(x, a), nullptr} : Int{std::nullopt, g.size(x, a)});
    slice_shape = g.to_vector(dims);
  }
  std::vector<Dim> dims = *x->type.shape;
  dims.erase(dims.begin() + axis);
  Values inputs;
  std::vector<ir::Type> types;
  for (Value s : start) {
    inputs.push_back(g.node("Expand", {s, slice_shape}));
    types.push_back(ir::Type::tensor(g.dtype(s), dims));
  }
  inputs.push_back(x);
  types.push_back(ir::Type::tensor(g.dtype(x), dims));
  const auto body = g.graph("scan", types, [&](const Values& in) {
    const Values state(in.begin(), in.end() - 1);
    Values next = step(state, in.back());
    Values out = next;  // carried on, and collected
    out.insert(out.end(), next.begin(), next.end());
    return out;
  });
  const size_t n = start.size();
  const ir::Attributes attributes{{"body", body},
                                  {"num_scan_inputs", int64_t{1}},
                                  {"scan_input_axes", Ints{axis}},
                                  {"scan_output_axes", Ints(n, axis)}};
  Values outputs = g.nodes("Scan", inputs, attributes, 2 * n);
  for (size_t i = 0; i < n; ++i)  // the schema's variadic outputs have no common type
    outputs[i]->type.dtype = outputs[n + i]->type.dtype = types[i].dtype;
  outputs.erase(outputs.begin(), outputs.begin() + static_cast<int64_t>(n));
  if (room)
    for (Value& v : outputs) v = without_room(g, v, whole);
  return outputs;
}

Value cumprod(Emit& g, Value x, int64_t dim, Skip) {
  const DType t = g.result_dtype();
  x = g.cast(x, compute_type(t));
  if (g.rank(x) == 0) return x;
  return scan(g, x, dim, {pw::num(g, 1, x)}, [&](const Values& state, Value slice) {
    return Values{pw::mul(g, state[0], slice)};
  })[0];
}

// Running log(exp(a) + exp(b)), from -inf.
Value logcumsumexp(Emit& g, Value x, int64_t dim) {
  const DType t = g.result_dtype();
  x = g.cast(x, compute_type(t));
  if (g.rank(x) == 0) return x;
  const auto step = [&](const Values& state, Value slice) {
    Value high = pw::maximum(g, state[0], slice), low = pw::minimum(g, state[0], slice);
    Value gap = pw::sub(g, low, high);
    Value sum = pw::add(g, high, pw::log1p(g, g.node("Exp", {gap})));
    // Two equal infinities have no difference; the higher one is their sum.
    Value infinite = g.node("IsInf", {high});
    return Values{pw::where(g, infinite, high, sum)};
  };
  return scan(g, x, dim, {pw::num(g, -std::numeric_limits<double>::infinity(), x)}, step)[0];
}

// The latest place wins among equals; NaN stays once it came.
Values running_extreme(Emit& g, Value x, int64_t dim, std::string_view order, double start) {
  if (g.rank(x) == 0) return {x, g.i64(0)};
  const DType t = g.dtype(x);
  if (t == DType::Bool) x = g.cast(x, DType::Int32);
  const bool whole = !is_float(g.dtype(x));
  Value first =
      whole ? g.cast(g.node("Reduce" + std::string(order == "GreaterOrEqual" ? "Min" : "Max"), {x},
                            {{"keepdims", int64_t{0}}}),
                     g.dtype(x))
            : g.number(start, g.dtype(x));
  const auto step = [&](const Values& state, Value slice) {
    Value better = g.node(order, {slice, state[0]});
    if (!whole) better = pw::either(g, better, g.node("IsNaN", {slice}));
    return Values{pw::where(g, better, slice, state[0]), pw::where(g, better, state[2], state[1]),
                  pw::add(g, state[2], g.i64(1))};
  };
  Values out = scan(g, x, dim, {first, g.i64(0), g.i64(0)}, step);
  return {g.cast(out[0], t), out[1]};
}
Values cummax(Emit& g, Value x, int64_t dim) {
  return running_extreme(g, x, dim, "GreaterOrEqual", -std::numeric_limits<double>::infinity());
}
Values cummin(Emit& g, Value x, int64_t dim) {
  return running_extreme(g, x, dim, "LessOrEqual", std::numeric_limits<double>::infinity());
}

constexpr Lowering table[] = {
    op<cumsum>("aten::cumsum(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    op<cumprod>("aten::cumprod(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor"),
    op<logcumsumexp>("aten::logcumsumexp(Tensor self, int dim) -> Tensor"),
    op<cummax>("aten::cummax(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
    op<cummin>("aten::cummin(Tensor self, int dim) -> (Tensor values, Tensor indices)"),
};

}  // namespace

Table scan_rows() { return table; }

}  // namespace oe::lower
