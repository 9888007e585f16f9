// Running sums, products and extremes along an axis.
#include <cmath>
#include <limits>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

T cumsum(Call& g, T x, Axis axis, Skip) {
  x = cast(x, g.result_dtype());
  return x.rank() == 0 ? x : node("CumSum", {x, g.i64(axis)});
}

// One more place on every axis that may be empty: ONNX Runtime scans no empty axis, and dies of
// empty slices. The places behind the end reach no other.
T with_room(Call& g, T x) {
  Ints pads(static_cast<size_t>(2 * x.rank()), 0);
  for (int64_t a = 0; a < x.rank(); ++a)
    pads[static_cast<size_t>(x.rank() + a)] = x.dim(a).value_or(0) > 0 ? 0 : 1;
  T out = node("Pad", {x, g.i64s(pads)});
  std::vector<Dim> dims;
  for (int64_t a = 0; a < x.rank(); ++a) {
    const auto size = x.dim(a);
    dims.push_back(size ? Dim::of(std::max<int64_t>(*size, 1)) : Dim::unknown());
  }
  out->type.shape = std::move(dims);
  return out;
}

T without_room(Call& g, T y, T x) {
  Ints axes;
  Dims ends;
  for (int64_t a = 0; a < x.rank(); ++a) {
    if (x.dim(a).value_or(0) > 0) continue;
    axes.push_back(a);
    ends.push_back(x.dim(a) ? Int{x.dim(a), nullptr} : computed(size(x, a)));
  }
  return node("Slice", {y, g.i64s(Ints(axes.size(), 0)), g.vector(ends), g.i64s(axes)});
}

// A Scan along `dim`: every step gets the slice and the state and returns the new state, which is
// also the result for that place. `start` are 0-d values that fill the first state.
Values scan(Call& g, T whole, Axis axis, const Values& start,
            const std::function<Values(const Values& state, T slice)>& step) {
  bool room = false;
  for (int64_t a = 0; a < whole.rank(); ++a) room |= whole.dim(a).value_or(0) == 0;
  T x = room ? with_room(g, whole) : whole;
  T slice_shape = nullptr;
  {
    Dims dims;
    for (int64_t a = 0; a < x.rank(); ++a)
      if (a != axis) dims.push_back(x.dim(a) ? Int{x.dim(a), nullptr} : computed(size(x, a)));
    slice_shape = g.vector(dims);
  }
  std::vector<Dim> dims = *x->type.shape;
  dims.erase(dims.begin() + axis);
  Values inputs;
  std::vector<ir::Type> types;
  for (T s : start) {
    inputs.push_back(expand(s, slice_shape));
    types.push_back(ir::Type::tensor(s.dtype(), dims));
  }
  inputs.push_back(x);
  types.push_back(ir::Type::tensor(x.dtype(), dims));
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
  Values outputs = nodes("Scan", inputs, attributes, 2 * n);
  for (size_t i = 0; i < n; ++i)  // the schema's variadic outputs have no common type
    outputs[i]->type.dtype = outputs[n + i]->type.dtype = types[i].dtype;
  outputs.erase(outputs.begin(), outputs.begin() + static_cast<int64_t>(n));
  if (room)
    for (T& v : outputs) v = without_room(g, v, whole);
  return outputs;
}

T cumprod(Call& g, T x, Axis axis, Skip) {
  const DType t = g.result_dtype();
  x = cast(x, compute_type(t));
  if (x.rank() == 0) return x;
  return scan(g, x, axis, {number(1, x)},
              [&](const Values& state, T slice) { return Values{state[0] * slice}; })[0];
}

// Running log(exp(a) + exp(b)), from -inf.
T logcumsumexp(Call& g, T x, Axis axis) {
  const DType t = g.result_dtype();
  x = cast(x, compute_type(t));
  if (x.rank() == 0) return x;
  const auto step = [&](const Values& state, T slice) {
    T high = maximum(state[0], slice), low = minimum(state[0], slice);
    T gap = low - high;
    T sum = high + log1p(exp(gap));
    // Two equal infinities have no difference; the higher one is their sum.
    T infinite = unary("IsInf", high);
    return Values{where(infinite, high, sum)};
  };
  return scan(g, x, axis, {number(-std::numeric_limits<double>::infinity(), x)}, step)[0];
}

// The latest place wins among equals; NaN stays once it came.
Values running_extreme(Call& g, T x, Axis axis, std::string_view order, double start) {
  if (x.rank() == 0) return {x, g.i64(0)};
  const DType t = x.dtype();
  if (t == DType::Bool) x = cast(x, DType::Int32);
  const bool whole = !is_float(x.dtype());
  T first = whole ? cast(node("Reduce" + std::string(order == "GreaterOrEqual" ? "Min" : "Max"),
                              {x}, {{"keepdims", int64_t{0}}}),
                         x.dtype())
                  : g.number(start, x.dtype());
  const auto step = [&](const Values& state, T slice) {
    T better = node(order, {slice, state[0]});
    if (!whole) better = better | is_nan(slice);
    return Values{where(better, slice, state[0]), where(better, state[2], state[1]), state[2] + 1};
  };
  Values out = scan(g, x, axis, {first, g.i64(0), g.i64(0)}, step);
  return {cast(out[0], t), out[1]};
}
Values cummax(Call& g, T x, Axis axis) {
  return running_extreme(g, x, axis, "GreaterOrEqual", -std::numeric_limits<double>::infinity());
}
Values cummin(Call& g, T x, Axis axis) {
  return running_extreme(g, x, axis, "LessOrEqual", std::numeric_limits<double>::infinity());
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
