// Running results along an axis, and Scan as a Loop.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {

T cumulate(Rewriter& r, std::string_view op, T x, T axis_value, bool exclusive, bool from_end) {
  const auto known = ints(axis_value);
  if (!known)
    throw Unsupported("needs opset " + std::to_string(r.below() + 1) +
                      " or later where the axis is computed");
  const int64_t axis = wrapped(known->at(0), x.rank());
  if (from_end) x = reverse(x, axis);
  T start = r.number(op == "Mul" ? 1 : 0, x.dtype());
  const auto step = [&](const Values& state, T entry) {
    Values next = {node(op, {state[0], entry})};
    if (exclusive) next.push_back(state[0]);
    return next;
  };
  T y = r.scan(x, axis, Values(exclusive ? 2 : 1, start), step).back();
  return from_end ? reverse(y, axis) : y;
}

namespace {

// What a Scan collects: along which axis, from the end or not, and which state has the shape of an
// entry.
struct Collected {
  int64_t axis, state;
  bool turned;
};

const ir::Value* origin(const ir::Value* v) {
  while (v->producer && v->producer->is("Identity")) v = v->producer->inputs[0];
  return v;
}

std::vector<Collected> collected(Rewriter& r, const ir::Node& n, const ir::Graph& body,
                                 size_t states) {
  const size_t count = body.outputs.size() - states;
  const auto axes = n.attributes.get_or<Ints>("scan_output_axes", Ints(count, 0));
  const auto turned = n.attributes.get_or<Ints>("scan_output_directions", Ints(count, 0));
  std::vector<Collected> out;
  for (size_t c = 0; c < count; ++c) {
    ir::Value* entry = body.outputs[states + c];
    const auto state =
        std::find_if(body.outputs.begin(), body.outputs.begin() + static_cast<int64_t>(states),
                     [&](const ir::Value* v) { return origin(v) == origin(entry); });
    out.push_back(
        {wrapped(axes[c], r.at(entry).rank() + 1), state - body.outputs.begin(), turned[c] != 0});
  }
  return out;
}

}  // namespace

void scan_as_loop(Rewriter& r, ir::Node& n) {
  const auto* graph = n.attributes.get<std::shared_ptr<ir::Graph>>("body");
  const auto scanned = static_cast<size_t>(n.attributes.get_or<int64_t>("num_scan_inputs", 0));
  const size_t states = n.inputs.size() - scanned;
  if (!graph || scanned == 0 || states == 0) throw Unsupported("");
  ir::Graph& body = **graph;
  auto axes = n.attributes.get_or<Ints>("scan_input_axes", Ints(scanned, 0));
  const auto backward = n.attributes.get_or<Ints>("scan_input_directions", Ints(scanned, 0));
  for (size_t k = 0; k < scanned; ++k) axes[k] = wrapped(axes[k], r.in(states + k).rank());
  const std::vector<Collected> results = collected(r, n, body, states);
  // Without a trip a Loop does not know the sizes of what it would have collected.
  const bool may_be_none = r.in(states).dim(axes[0]).value_or(0) == 0;
  for (const Collected& c : results)
    if (may_be_none && c.state == static_cast<int64_t>(states)) throw Unsupported("");

  ir::Model& m = r.model();
  ir::Value* i = m.new_value("i", ranked(DType::Int64, 0));
  ir::Value* go_on = m.new_value("go_on", ranked(DType::Bool, 0));
  ir::Value* still = m.new_value("go_on_out", ranked(DType::Bool, 0));
  T trips = size(r.in(states), axes[0]);
  Nodes entries;
  entries.push_back(ir::make_node(m, n.name + "_go_on", "Identity", {go_on}, {still}));
  for (size_t k = 0; k < scanned; ++k) {
    T x = r.in(states + k);
    if (backward[k] != 0) x = reverse(x, axes[k]);
    entries.push_back(ir::make_node(m, n.name + "_entry", "Gather", {x, i},
                                    {body.inputs[states + k]}, {{"axis", axes[k]}}));
  }
  body.nodes.insert(body.nodes.begin(), std::make_move_iterator(entries.begin()),
                    std::make_move_iterator(entries.end()));
  body.inputs.resize(states);
  body.inputs.insert(body.inputs.begin(), {i, go_on});

  std::vector<ir::Value*> inputs = {trips, nullptr};
  inputs.insert(inputs.end(), n.inputs.begin(), n.inputs.begin() + static_cast<int64_t>(states));
  std::vector<ir::Value*> outputs(n.outputs.begin(),
                                  n.outputs.begin() + static_cast<int64_t>(states));
  for (size_t c = 0; c < results.size(); ++c) {
    const ir::Type& entry = body.outputs[states + c]->type;
    outputs.push_back(m.new_value(
        n.name + "_stack", ranked(entry.dtype, static_cast<int64_t>(entry.shape->size()) + 1)));
  }
  body.outputs.insert(body.outputs.begin(), still);
  r.add(ir::make_node(m, n.name, "Loop", inputs, outputs, {{"body", *graph}}));
  for (size_t c = 0; c < results.size(); ++c) {
    T y = r.at(outputs[states + c]);
    const int64_t rank = y.rank();
    if (may_be_none) {
      T entry = shape(r.at(outputs[static_cast<size_t>(results[c].state)]));
      y = reshape(y, concat({vector(trips), entry}, 0), rank);
    }
    if (results[c].turned) y = reverse(y, 0);
    Ints perm = range(1, rank);
    perm.insert(perm.begin() + results[c].axis, 0);
    r.bind(n.outputs[states + c], transpose(y, perm));
  }
}

}  // namespace oe::opsets
