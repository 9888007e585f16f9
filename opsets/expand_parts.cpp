// Parts that several rewrites share: bodies, running sums, clamps, positions.
#include <algorithm>

#include "lib/onnx/onnx.h"
#include "opsets/expand.h"

namespace oe::opsets {

void expand_body(Rewriter& r, ir::Node& n) {
  Nodes nodes;
  if (!onnx::expand_function(r.model(), n, r.below() + 1, nodes)) throw NotExpressible{};
  for (auto& inner : nodes) r.add(std::move(inner));
  r.context().untyped = true;
  r.again();
}

Value normalize(Rewriter& r, Value x, const Ints& axes, double epsilon) {
  Value centered = r.op("Sub", {x, r.reduce("ReduceMean", x, axes, true)});
  Value variance = r.reduce("ReduceMean", r.op("Mul", {centered, centered}), axes, true);
  Value deviation = r.op("Sqrt", {r.op("Add", {variance, r.number(epsilon, r.dtype(x))})});
  return r.op("Div", {centered, deviation});
}

Value cumulate(Rewriter& r, std::string_view op, Value x, Value axis_value, bool exclusive,
               bool from_end) {
  const auto known = r.ints(axis_value);
  if (!known)
    throw NotExpressible{"needs opset " + std::to_string(r.below() + 1) +
                         " or later where the axis is computed"};
  const int64_t rank = r.rank(x), axis = r.wrap(known->at(0), rank);
  if (from_end) x = r.reverse(x, axis);
  Values others;
  Ints order = {axis};
  for (int64_t a = 0; a < rank; ++a)
    if (a != axis) {
      others.push_back(r.vector(r.size(x, a)));
      order.push_back(a);
    }
  Value slice_shape = others.empty() ? r.i64s({}) : r.concat(others, 0);
  Value start = r.full(slice_shape, r.number(op == "Mul" ? 1 : 0, r.dtype(x)));
  const Values results =
      r.loop(r.size(x, axis), {start}, [&](Value i, const Values& state) -> Values {
        Value next = r.op(op, {state[0], r.gather(x, i, axis)});
        return {next, exclusive ? state[0] : next};
      });
  // The loop stacks on axis 0; `order` says which axis of x each axis of the stack is.
  Ints back(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    back[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  Value y = r.transpose(results[1], back);
  return from_end ? r.reverse(y, axis) : y;
}

Value clamp(Rewriter& r, Value v, Value low, Value high) {
  const auto bound = [&](Value x, Value y, bool upper) {
    const auto a = r.ints(x), b = r.ints(y);
    if (a && b && a->size() == 1 && b->size() == 1 && x->rank() == 0) {
      const int64_t p = a->at(0), q = b->at(0);
      return r.i64(upper ? std::min(p, q) : std::max(p, q));
    }
    return upper ? r.minimum(x, y) : r.maximum(x, y);
  };
  if (low) v = bound(v, low, false);
  if (high) v = bound(v, high, true);
  return v;
}

Value wrap_indices(Rewriter& r, Value indices, Value size) {
  const auto known = r.ints(indices), length = r.ints(size);
  if (known) {
    const bool negative =
        std::any_of(known->begin(), known->end(), [](int64_t i) { return i < 0; });
    if (!negative) return indices;
    if (length) {
      Ints wrapped = *known;
      for (int64_t& i : wrapped)
        if (i < 0) i += length->at(0);
      return r.constant(Tensor::of<int64_t>(DType::Int64, r.data(indices)->dims(), wrapped));
    }
  }
  Value negative = r.less(indices, r.i64(0));
  return r.where(negative, r.op("Add", {indices, size}), indices);
}

Value linear_index(Rewriter& r, Value data, const Values& coordinates) {
  // Horner's scheme over the axes.
  Value position = coordinates[0];
  for (size_t i = 1; i < coordinates.size(); ++i) {
    Value size = r.size(data, static_cast<int64_t>(i));
    position = r.op("Add", {r.op("Mul", {position, size}), coordinates[i]});
  }
  return position;
}

void reduce_axes_to_attribute(Rewriter& r, ir::Node& n) {
  const int from = r.below() + 1;
  Value axes = n.input(1);
  const bool noop = n.attributes.get_or<int64_t>("noop_with_empty_axes", 0) != 0;
  n.attributes.erase("noop_with_empty_axes");
  n.inputs.resize(1);
  const auto known = axes ? r.ints(axes) : Ints{};
  if (!known)
    throw NotExpressible{"needs opset " + std::to_string(from) +
                         " or later where the axes are computed"};
  if (!known->empty()) {
    n.attributes.set("axes", *known);
    return r.keep();
  }
  if (!noop) return r.keep();
  // Reducing over no axes still maps every element.
  Value x = n.input(0), y = x;
  if (n.op == "ReduceL1" || n.op == "ReduceL2") y = r.op("Abs", {x});
  if (n.op == "ReduceSumSquare") y = r.op("Mul", {x, x});
  if (n.op == "ReduceLogSum") y = r.op("Log", {x});
  r.bind(n.outputs[0], y);
}

void time_first(Rewriter& r, ir::Node& n) {
  const bool batch_first = n.attributes.get_or<int64_t>("layout", 0) == 1;
  n.attributes.erase("layout");
  if (!batch_first) return r.keep();
  const auto swap_in = [&](size_t i) {
    if (n.input(i)) n.inputs[i] = r.transpose(n.input(i), {1, 0, 2});
  };
  swap_in(0);
  swap_in(5);
  if (n.op == "LSTM") swap_in(6);
  // Y is [batch, steps, directions, hidden] there, [steps, directions, batch, hidden] here.
  const std::vector<Ints> perms = {{2, 0, 1, 3}, {1, 0, 2}, {1, 0, 2}};
  std::vector<std::pair<Value, Value>> outputs;
  for (size_t i = 0; i < n.outputs.size(); ++i)
    if (n.outputs[i]) {
      Value out = r.detach(i);
      outputs.emplace_back(out, n.outputs[i]);
    } else {
      outputs.emplace_back(nullptr, nullptr);
    }
  r.keep();
  for (size_t i = 0; i < outputs.size(); ++i)
    if (outputs[i].first) r.bind(outputs[i].first, r.transpose(outputs[i].second, perms[i]));
}

void gemm_of_integers(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<float>("alpha", 1.0f) != 1.0f ||
      n.attributes.get_or<float>("beta", 1.0f) != 1.0f)
    throw NotExpressible{};
  const auto matrix = [&](size_t i, const char* turned) {
    Value v = n.input(i);
    return n.attributes.get_or<int64_t>(turned, 0) != 0 ? r.transpose(v, {1, 0}) : v;
  };
  Value y = r.op("MatMul", {matrix(0, "transA"), matrix(1, "transB")}, {},
                 r.ranked(r.dtype(n.input(0)), 2));
  r.bind(n.outputs[0], n.input(2) ? r.op("Add", {y, n.input(2)}) : y);
}

void one_hot_by_compare(Rewriter& r, ir::Node& n) {
  Value indices = r.cast(n.input(0), DType::Int64);
  const int64_t rank = r.rank(indices);
  const int64_t axis = r.wrap(n.attributes.get_or<int64_t>("axis", -1), rank + 1);
  Value depth = r.cast(n.input(1), DType::Int64);
  if (depth->rank() != 0) depth = r.reshape(depth, Ints{});
  Ints trailing;
  for (int64_t a = 1; a <= rank - axis; ++a) trailing.push_back(a);
  Value positions = r.arange(depth);
  if (!trailing.empty()) positions = r.unsqueeze(positions, trailing);
  Value hit = r.equal(r.unsqueeze(indices, {axis}), positions);
  r.bind(n.outputs[0], r.gather(n.input(2), r.cast(hit, DType::Int64), 0));
}

}  // namespace oe::opsets
