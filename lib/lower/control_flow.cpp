// prim::If and prim::Loop -> ONNX If and Loop with nested graphs.
#include <limits>
#include <unordered_set>

#include "lib/lower/driver.h"

namespace oe::lower {

using program::Arg;

namespace {

// The number a returned argument is, as a Constant node's value.
TensorPtr constant_value(const Arg& a) {
  if (auto* i = std::get_if<int64_t>(&a.v)) return Tensor::of<int64_t>(DType::Int64, {}, {*i});
  if (auto* d = std::get_if<double>(&a.v)) return Tensor::of<double>(DType::Double, {}, {*d});
  if (auto* b = std::get_if<bool>(&a.v))
    return Tensor::of<uint8_t>(DType::Bool, {}, {static_cast<uint8_t>(*b)});
  return nullptr;
}

}  // namespace

// Fills the graph's outputs with what the block returns. Every output is a value of its own made
// inside the graph, as ONNX demands. False when one could not be lowered.
bool Driver::returns(const program::Node& n, const program::Args& returned,
                     const std::vector<const program::Type*>& types, ir::Graph& g) {
  std::unordered_set<const ir::Node*> inside;
  for (const auto& made : g.nodes) inside.insert(made.get());
  std::unordered_set<const ir::Value*> used;
  for (size_t i = 0; i < returned.size(); ++i) {
    const Arg& a = returned[i];
    const program::Type& t = *types[i];
    if (poisoned(a)) return false;
    if (a.is_none() || std::holds_alternative<program::Args>(a.v)) {
      report(n, "OE5103",
             a.is_none() ? "one branch returns None and the other a value"
                         : "a list of values cannot leave a block");
      return false;
    }
    T v = nullptr;
    if (TensorPtr number = constant_value(a)) {
      v = with_rank(call_.op("Constant", {}, {{"value", number}}), 0);
    } else {
      v = call_.lookup(a.value());
      if (!v->producer || !inside.contains(v->producer) || used.contains(v)) {
        v = call_.op("Identity", {v}, {}, v->type);
      }
    }
    if (t.kind != program::Type::Kind::List && t.kind != program::Type::Kind::Optional)
      v = cast(v, to_onnx_type(t).dtype);
    used.insert(v);
    g.outputs.push_back(v);
  }
  return true;
}

void Driver::control_outputs(const program::Node& n, ir::Node* made) {
  for (const program::Value* v : split(n.outputs)) {
    ir::Value* out = model_.new_value(
        made->name + "_output_" + std::to_string(made->outputs.size()), to_onnx_type(v->type));
    out->producer = made;
    made->outputs.push_back(out);
    call_.values_[v] = out;
  }
}

std::shared_ptr<ir::Graph> Driver::branch(const program::Node& n, size_t index) {
  auto g = std::make_shared<ir::Graph>();
  g->name = index == 0 ? "then_branch" : "else_branch";
  Nodes* outer = call_.exchange_out(&g->nodes);
  nodes(*n.blocks[index]);
  std::vector<const program::Type*> types;
  for (const program::Value* v : split(n.outputs)) types.push_back(&v->type);
  const bool ok = returns(n, split(n.blocks[index]->returns, n.outputs), types, *g);
  call_.exchange_out(outer);
  return ok ? g : nullptr;
}

void Driver::conditional(const program::Node& n) {
  // Both branches are walked even when they cannot be used: every problem is reported.
  auto then_branch = branch(n, 0), else_branch = branch(n, 1);
  if (poisoned(n.args[0]) || !then_branch || !else_branch) return poison(n);
  T condition = argument(n.args[0], DType::Bool);
  ir::Node* made = call_.append("If", {condition}, {},
                                {{"then_branch", then_branch}, {"else_branch", else_branch}});
  control_outputs(n, made);
}

void Driver::loop(const program::Node& n) {
  const program::Block& b = *n.blocks[0];
  const std::vector<program::Value*> whole(b.params.begin() + 1, b.params.end()),
      states = split(whole);
  bool ok = true;
  for (const Arg& a : n.args) ok = ok && !poisoned(a);

  // Operands: M, cond, state. Outside of the body, so before its graph is opened.
  Values operands;
  const auto* trips = std::get_if<int64_t>(&n.args[0].v);
  const auto* first = std::get_if<bool>(&n.args[1].v);
  const auto* again = std::get_if<bool>(&b.returns[0].v);
  if (ok) {
    const bool endless = trips && *trips == std::numeric_limits<int64_t>::max();
    operands.push_back(endless ? nullptr : argument(n.args[0], DType::Int64));
    // Without a condition input ONNX ignores the body's condition too.
    const bool counted = first && *first && again && *again;
    operands.push_back(counted ? nullptr : argument(n.args[1], DType::Bool));
    const program::Args start = split({n.args.begin() + 2, n.args.end()}, whole);
    for (size_t i = 0; i < start.size() && ok; ++i) {
      const program::Type& t = states[i]->type;
      const Arg& a = start[i];
      if (a.is_none() || std::holds_alternative<program::Args>(a.v)) {
        report(n, "OE5103", "a loop cannot carry None or a list of values");
        ok = false;
      } else if (t.kind == program::Type::Kind::List || t.kind == program::Type::Kind::Optional) {
        operands.push_back(call_.lookup(a.value()));
      } else {
        operands.push_back(argument(a, to_onnx_type(t).dtype));
      }
    }
  }

  auto g = std::make_shared<ir::Graph>();
  g->name = "body";
  const std::string name = call_.prefix_ + "Loop";
  ir::Value* i = model_.new_value(name + "_iteration", to_onnx_type(b.params[0]->type));
  ir::Value* condition = model_.new_value(name + "_condition",
                                          ir::Type::tensor(DType::Bool, Shape{std::vector<Dim>{}}));
  g->inputs = {i, condition};
  call_.values_[b.params[0]] = i;
  std::vector<const program::Type*> types;
  static const program::Type boolean = program::Type::boolean();
  types.push_back(&boolean);
  for (const program::Value* v : states) {
    ir::Value* state = model_.new_value(name + "_state", to_onnx_type(v->type));
    g->inputs.push_back(state);
    call_.values_[v] = state;
    types.push_back(&v->type);
  }
  Nodes* outer = call_.exchange_out(&g->nodes);
  nodes(b);
  std::vector<program::Value*> as = {nullptr};  // the condition
  as.insert(as.end(), whole.begin(), whole.end());
  ok = returns(n, split(b.returns, as), types, *g) && ok;
  call_.exchange_out(outer);
  if (!ok) return poison(n);
  ir::Node* made = call_.append("Loop", std::move(operands), {}, {{"body", g}});
  control_outputs(n, made);
}

}  // namespace oe::lower
