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

}  // namespace

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
