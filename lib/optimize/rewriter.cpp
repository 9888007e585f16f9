// The walk that the passes share: replacement of values and what a rule may do to a node.
#include "lib/optimize/rewriter.h"

#include <array>

namespace oe::optimize {

using namespace ir;

namespace {

constexpr int64_t kMostInts = 1024;  // a longer list is data, not an axis or a shape

}  // namespace

void refine(Type& into, const Type& from) {
  if (into.kind == Type::Kind::Unknown) {
    into = from;
    return;
  }
  if (into.kind != Type::Kind::Tensor || from.kind != Type::Kind::Tensor || !from.shape) return;
  if (into.dtype == DType::Undefined) into.dtype = from.dtype;
  if (!into.shape) {
    into.shape = from.shape;
    return;
  }
  if (into.shape->size() != from.shape->size()) return;
  for (size_t i = 0; i < into.shape->size(); ++i) {
    Dim& d = (*into.shape)[i];
    const Dim& f = (*from.shape)[i];
    if (d.kind == Dim::Kind::Unknown || (d.is_symbol() && f.is_number())) d = f;
  }
}

Node* produced_by(const Value* v, std::string_view op) {
  return v && v->producer && v->producer->is(op) ? v->producer : nullptr;
}

std::unordered_map<const Value*, size_t> use_counts(const Model& m) {
  std::unordered_map<const Value*, size_t> uses;
  for_each_graph(m.graph, [&](const Graph& g) {
    for (const auto& n : g.nodes)
      for (const Value* v : n->inputs) ++uses[v];
    for (const Value* v : g.outputs) ++uses[v];
  });
  return uses;
}

Owners::Owners(const Model& m) : uses_(use_counts(m)) {
  for_each_graph(m.graph, [this](const Graph& g) {
    for (const auto& n : g.nodes) home_[n.get()] = &g;
  });
}

Node* Owners::producer(const Value* v, const Node& reader) const {
  Node* n = v->producer;
  const auto home = home_.find(n), readers = home_.find(&reader);
  return home != home_.end() && readers != home_.end() && home->second == readers->second &&
                 uses(v) == 1
             ? n
             : nullptr;
}

bool has_graphs(const Node& n) {
  for (const auto& [key, a] : n.attributes)
    if (std::holds_alternative<std::shared_ptr<Graph>>(a)) return true;
  return false;
}

bool is_random(const Node& n) {
  static constexpr std::array kRandom = {
      "RandomNormal", "RandomUniform", "RandomNormalLike", "RandomUniformLike",
      "Multinomial",  "Bernoulli",     "Dropout"};
  for (std::string_view op : kRandom)
    if (n.is(op)) return true;
  return false;
}

Rewriter::Rewriter(Model& m) : model_(m) {
  for_each_graph(m.graph, [&](Graph& g) { outputs_.insert(g.outputs.begin(), g.outputs.end()); });
  for (const Value* v : m.graph.inputs)
    if (v->data) overridable_.insert(v);
}

TensorPtr Rewriter::constant(const Value* v) const {
  if (!v || !v->data || (!overridable_.empty() && overridable_.contains(v))) return nullptr;
  return v->data;
}

std::optional<Ints> Rewriter::ints(const Value* v) const {
  TensorPtr t = constant(v);
  if (!t || t->numel() > kMostInts || (t->dtype() != DType::Int64 && t->dtype() != DType::Int32))
    return std::nullopt;
  return t->as_int64();
}

Value* Rewriter::new_ints(const std::string& name, const Ints& numbers) {
  const auto size = static_cast<int64_t>(numbers.size());
  return model_.new_initializer(name, Tensor::of<int64_t>(DType::Int64, {size}, numbers));
}

void Rewriter::forward(Node& n, Value* by) {
  Value* out = n.outputs[0];
  if (is_output(out)) {
    if (n.is("Identity") && n.inputs[0] == by) return;
    n.domain.clear();
    n.op = "Identity";
    n.inputs = {by};
    n.outputs = {out};
    n.attributes = {};
    changed_ = true;
    return;
  }
  replace_output(n, 0, by);
  drop();
}

void Rewriter::replace_output(Node& n, size_t index, Value* by) {
  Value* out = n.outputs[index];
  // The declared types of inputs and of data are not ours to change.
  if (by->producer) refine(by->type, out->type);
  replaced_[out] = by;
  changed_ = true;
}

void Rewriter::output_from(Node& n, Node& by) {
  by.outputs[0] = n.outputs[0];
  n.outputs[0]->producer = &by;
  drop();
}

void Rewriter::become_constant(Node& n, TensorPtr data, std::string_view name) {
  Value* out = n.outputs[0];
  if (is_output(out) || !name.empty()) {
    forward(n, model_.new_initializer(name.empty() ? out->name : name, std::move(data)));
    return;
  }
  std::vector<Dim> dims;
  for (int64_t d : data->dims()) dims.push_back(Dim::of(d));
  out->type = Type::tensor(data->dtype(), std::move(dims));
  out->data = std::move(data);
  out->producer = nullptr;
  model_.graph.initializers.push_back(out);
  changed_ = true;
  drop();
}

Value* Rewriter::insert(Node& before, std::string_view op, std::vector<Value*> inputs, Type type,
                        Attributes attributes) {
  std::string wanted = before.name.substr(0, before.name.rfind('/') + 1);
  wanted += op;
  Value* out = model_.new_value(wanted + "_output_0", std::move(type));
  sink_->push_back(make_node(model_, wanted, op, std::move(inputs), {out}, std::move(attributes),
                             before.origin));
  changed_ = true;
  return out;
}

void Rewriter::resolve_inputs(Node& n) {
  if (replaced_.empty()) return;
  for (Value*& v : n.inputs) {
    // Chains occur only when a replacement is itself replaced later, so they are short.
    for (auto it = replaced_.find(v); it != replaced_.end(); it = replaced_.find(v)) v = it->second;
  }
}

void Rewriter::release(Node& n) {
  for (Value* v : n.outputs)
    if (v && v->producer == &n) v->producer = nullptr;
  changed_ = true;
}

}  // namespace oe::optimize
