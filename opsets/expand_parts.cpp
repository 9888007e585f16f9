// Parts that several rewrites share: bodies, clamps, positions.
#include <algorithm>

#include "lib/onnx/onnx.h"
#include "opsets/expand.h"

namespace oe::opsets {

void expand_body(Rewriter& r, ir::Node& n) {
  Nodes nodes;
  if (!onnx::expand_function(r.model(), n, r.below() + 1, nodes)) throw Unsupported("");
  for (auto& inner : nodes) r.add(std::move(inner));
  r.context().untyped = true;
  r.again();
}

T normalize(T x, const Ints& axes, double epsilon) {
  T centered = x - reduce("ReduceMean", x, axes, true);
  T variance = reduce("ReduceMean", centered * centered, axes, true);
  T deviation = sqrt(variance + epsilon);
  return centered / deviation;
}

T clamp(Rewriter& r, T v, T low, T high) {
  const auto bound = [&](T x, T y, bool upper) {
    const auto a = ints(x), b = ints(y);
    if (a && b && a->size() == 1 && b->size() == 1 && x->rank() == 0) {
      const int64_t p = a->at(0), q = b->at(0);
      return r.i64(upper ? std::min(p, q) : std::max(p, q));
    }
    return upper ? minimum(x, y) : maximum(x, y);
  };
  if (low) v = bound(v, low, false);
  if (high) v = bound(v, high, true);
  return v;
}

T wrap_indices(Rewriter& r, T indices, T size) {
  const auto known = ints(indices), length = ints(size);
  if (known) {
    const bool negative =
        std::any_of(known->begin(), known->end(), [](int64_t i) { return i < 0; });
    if (!negative) return indices;
    if (length) {
      Ints wrapped = *known;
      for (int64_t& i : wrapped)
        if (i < 0) i += length->at(0);
      return r.tensor(Tensor::of<int64_t>(DType::Int64, content(indices)->dims(), wrapped));
    }
  }
  T negative = indices < 0;
  return where(negative, indices + size, indices);
}

T linear_index(T data, const Values& coordinates) {
  // Horner's scheme over the axes.
  T position = coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i) {
    position = position * size(data, static_cast<int64_t>(i)) + coordinates[i];
  }
  return position;
}

void reduce_axes_to_attribute(Rewriter& r, ir::Node& n) {
  const int from = r.below() + 1;
  T axes = r.in(1);
  const bool noop = n.attributes.get_or<int64_t>("noop_with_empty_axes", 0) != 0;
  n.attributes.erase("noop_with_empty_axes");
  n.inputs.resize(1);
  const auto known = axes ? ints(axes) : Ints{};
  if (!known)
    throw Unsupported("needs opset " + std::to_string(from) +
                      " or later where the axes are computed");
  if (!known->empty()) {
    n.attributes.set("axes", *known);
    return r.keep();
  }
  if (!noop) return r.keep();
  // Reducing over no axes still maps every element.
  T x = r.in(0), y = x;
  if (n.op == "ReduceL1" || n.op == "ReduceL2") y = abs(x);
  if (n.op == "ReduceSumSquare") y = x * x;
  if (n.op == "ReduceLogSum") y = log(x);
  r.bind(n.outputs[0], y);
}

void time_first(Rewriter& r, ir::Node& n) {
  const bool batch_first = n.attributes.get_or<int64_t>("layout", 0) == 1;
  n.attributes.erase("layout");
  if (!batch_first) return r.keep();
  const auto swap_in = [&](size_t i) {
    if (r.in(i)) n.inputs[i] = transpose(r.in(i), {1, 0, 2});
  };
  swap_in(0);
  swap_in(5);
  if (n.op == "LSTM") swap_in(6);
  // Y is [batch, steps, directions, hidden] there, [steps, directions, batch, hidden] here.
  const std::vector<Ints> perms = {{2, 0, 1, 3}, {1, 0, 2}, {1, 0, 2}};
  std::vector<std::pair<ir::Value*, T>> outputs;
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i]) {
      ir::Value* out = r.detach(i);
      outputs.emplace_back(out, r.at(n.outputs[i]));
    } else {
      outputs.emplace_back(nullptr, nullptr);
    }
  r.keep();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].first) r.bind(outputs[i].first, transpose(outputs[i].second, perms[i]));
}

void gemm_of_integers(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<float>("alpha", 1.0f) != 1.0f ||
      n.attributes.get_or<float>("beta", 1.0f) != 1.0f)
    throw Unsupported("");
  const auto matrix = [&](size_t i, const char* turned) {
    T v = r.in(i);
    return n.attributes.get_or<int64_t>(turned, 0) != 0 ? transpose(v, {1, 0}) : v;
  };
  T y = matmul(matrix(0, "transA"), matrix(1, "transB"));
  r.bind(n.outputs[0], r.in(2) ? y + r.in(2) : y);
}

void one_hot_by_compare(Rewriter& r, ir::Node& n) {
  T indices = cast(r.in(0), DType::Int64);
  const int64_t rank = indices.rank();
  const int64_t axis = wrapped(n.attributes.get_or<int64_t>("axis", -1), rank + 1);
  T depth = cast(r.in(1), DType::Int64);
  if (depth->rank() != 0) depth = reshape(depth, Ints{});
  Ints trailing;
  for (int64_t a = 1; a <= rank - axis; ++a) trailing.push_back(a);
  T positions = arange(depth);
  if (!trailing.empty()) positions = unsqueeze(positions, trailing);
  T hit = equal(unsqueeze(indices, {axis}), positions);
  r.bind(n.outputs[0], gather(r.in(2), cast(hit, DType::Int64), 0));
}

Values cubic_weights(T share, double a) {
  const auto c = [&](double v) { return share.builder().number(v, share.dtype()); };
  // |d| <= 1: ((a + 2) d - (a + 3)) d d + 1; 1 < |d| < 2: ((a d - 5 a) d + 8 a) d - 4 a
  const auto near = [&](T d) { return (c(a + 2) * d + c(-(a + 3))) * d * d + c(1); };
  const auto far = [&](T d) { return ((c(a) * d + c(-5 * a)) * d + c(8 * a)) * d + c(-4 * a); };
  T rest = c(1) - share;
  return {far(share + c(1)), near(share), near(rest), far(rest + c(1))};
}

T square(Rewriter& r, T x) {
  return x.dtype() == DType::Float ? node("Pow", {x, r.number(2, DType::Float)}) : x * x;
}

}  // namespace oe::opsets
