// Attributes, names and construction of nodes and values.
#include "lib/ir/ir.h"

#include <algorithm>

namespace oe::ir {
namespace {

template <class List>
auto lower(List& list, std::string_view name) {
  return std::lower_bound(list.begin(), list.end(), name,
                          [](const auto& entry, std::string_view n) { return entry.first < n; });
}

class Copier {
 public:
  Model run(const Model& m) {
    Model c;
    c.ir_version = m.ir_version;
    c.opsets = m.opsets;
    c.producer_name = m.producer_name;
    c.producer_version = m.producer_version;
    c.doc = m.doc;
    c.metadata = m.metadata;
    c.names = m.names;
    for (const Value& v : m.values) {
      Value& own = c.values.emplace_back(v);
      own.producer = nullptr;
      values_.emplace(&v, &own);
    }
    c.graph = graph(m.graph);
    for (const Function& f : m.functions)
      c.functions.push_back({f.domain, f.name, f.attributes, f.opsets, graph(f.body)});
    return c;
  }

 private:
  std::vector<Value*> values(const std::vector<Value*>& list) const {
    std::vector<Value*> own;
    for (const Value* v : list) own.push_back(v ? values_.at(v) : nullptr);
    return own;
  }

  std::unique_ptr<Node> node(const Node& n) {
    auto own = std::make_unique<Node>(n);
    own->inputs = values(n.inputs);
    own->outputs = values(n.outputs);
    for (Value* v : own->outputs)
      if (v) v->producer = own.get();
    for (auto& [name, a] : own->attributes)
      if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&a))
        *inner = std::make_shared<Graph>(graph(**inner));
    return own;
  }

  Graph graph(const Graph& g) {
    Graph own{g.name, values(g.inputs), values(g.outputs), values(g.initializers), {}};
    for (const auto& n : g.nodes) own.nodes.push_back(node(*n));
    return own;
  }

  std::unordered_map<const Value*, Value*> values_;
};

}  // namespace

Model copy(const Model& m) { return Copier().run(m); }

void Attributes::set(std::string_view name, Attribute value) {
  auto it = lower(list_, name);
  if (it != list_.end() && it->first == name)
    it->second = std::move(value);
  else
    list_.emplace(it, std::string(name), std::move(value));
}

bool Attributes::erase(std::string_view name) {
  auto it = lower(list_, name);
  if (it == list_.end() || it->first != name) return false;
  list_.erase(it);
  return true;
}

const Attribute* Attributes::find(std::string_view name) const {
  auto it = lower(list_, name);
  return it != list_.end() && it->first == name ? &it->second : nullptr;
}
Attribute* Attributes::find(std::string_view name) {
  return const_cast<Attribute*>(std::as_const(*this).find(name));
}

std::string NameAuthority::unique(std::string_view wanted) {
  std::string base(wanted.empty() ? "v" : wanted);
  auto [it, fresh] = next_.try_emplace(base, 1);
  if (fresh) return base;
  // `it->second` is the first suffix not yet tried for this base, so no suffix is tried twice.
  for (;;) {
    std::string name = base + "_" + std::to_string(it->second++);
    if (next_.try_emplace(name, 1).second) return name;
    it = next_.find(base);  // try_emplace may have rehashed
  }
}

bool NameAuthority::taken(std::string_view name) const { return next_.contains(std::string(name)); }

Value* Model::new_value(std::string_view wanted, Type type) {
  values.push_back({names.unique(wanted), std::move(type), nullptr, nullptr});
  return &values.back();
}

Value* Model::new_initializer(std::string_view wanted, TensorPtr data) {
  std::vector<Dim> dims;
  for (int64_t d : data->dims()) dims.push_back(Dim::of(d));
  Value* v = new_value(wanted, Type::tensor(data->dtype(), std::move(dims)));
  v->data = std::move(data);
  graph.initializers.push_back(v);
  return v;
}

std::unique_ptr<Node> make_node(Model& m, std::string_view wanted_name, std::string_view op,
                                std::vector<Value*> inputs, std::vector<Value*> outputs,
                                Attributes attributes, OriginPtr origin) {
  auto n = std::make_unique<Node>();
  n->name = m.names.unique(wanted_name);
  n->op = op;
  n->inputs = std::move(inputs);
  n->outputs = std::move(outputs);
  n->attributes = std::move(attributes);
  n->origin = std::move(origin);
  for (Value* v : n->outputs)
    if (v) v->producer = n.get();
  return n;
}

}  // namespace oe::ir
