// The functions of a model while calls are taken out of its graph: which bodies are the same, what
// their attributes are, and the names inside.
#include "lib/functions/function_table.h"

#include <bit>
#include <cstdint>

namespace oe::functions {

using namespace ir;

namespace {

// AttributeProto.AttributeType; 0 for what is no attribute of a function.
int parameter_type(const Attribute& a) {
  if (std::holds_alternative<float>(a)) return 1;
  if (std::holds_alternative<int64_t>(a)) return 2;
  if (std::holds_alternative<std::string>(a)) return 3;
  if (std::holds_alternative<Floats>(a)) return 6;
  if (std::holds_alternative<Ints>(a)) return 7;
  return 0;
}

// Texts that are the same for the same bits and for nothing else.
std::string bits(const std::string& s) { return std::to_string(s.size()) + ":" + s; }
std::string bits(int64_t v) { return std::to_string(v); }
std::string bits(float v) { return std::to_string(std::bit_cast<uint32_t>(v)); }
std::string bits(const Reference& r) { return "@" + bits(r.name) + std::to_string(r.type); }
std::string bits(const std::shared_ptr<Graph>&) { return "graph"; }  // compared node by node
std::string bits(const TensorPtr& t) {
  std::string s = std::to_string(static_cast<int>(t->dtype())) + "[";
  for (const int64_t d : t->dims()) s += bits(d) + ",";
  s += "]";
  if (t->dtype() == DType::String) {
    for (const std::string& e : t->strings()) s += bits(e);
    return s;
  }
  return s + std::string(static_cast<const char*>(t->data()), t->nbytes());
}
std::string bits(const Type& t) {
  std::string s = std::to_string(static_cast<int>(t.kind));
  if (t.element) return s + bits(*t.element);
  return s + "," + std::to_string(static_cast<int>(t.dtype)) + to_string(t.shape);
}
template <class T>
std::string bits(const std::vector<T>& list) {
  std::string s = bits(static_cast<int64_t>(list.size()));
  for (const T& v : list) s += "," + bits(v);
  return s;
}
std::string bits_of(const Attribute& a) {
  return std::to_string(a.index()) + std::visit([](const auto& v) { return bits(v); }, a);
}

// Short names for what stands in a function's body, unique there.
class LocalNames {
 public:
  explicit LocalNames(const std::string& path) : prefix_(path + ".") {}

  void graph(Graph& g) {
    for (Value* v : g.inputs) name(*v);
    for (const auto& n : g.nodes) {
      n->name = nodes_.unique(last(n->name));
      for (Value* v : n->outputs)
        if (v) name(*v);
      for (auto& [key, a] : n->attributes)
        if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) graph(**inner);
    }
  }

 private:
  void name(Value& v) { v.name = values_.unique(last(v.name)); }
  // "weight" of "layer1.0.weight", "Conv_output_0" of "/layer1/layer1.0/Conv_output_0".
  std::string last(const std::string& name) const {
    if (name.starts_with(prefix_)) return name.substr(prefix_.size());
    return name.substr(name.rfind('/') + 1);
  }

  std::string prefix_;
  NameAuthority values_, nodes_;
};

}  // namespace

// A body as text: equal for bodies that differ in names and parameters alone.
class FunctionTable::Canonical {
 public:
  Canonical(const Graph& body, const std::unordered_map<const Node*, Call>& calls) : calls_(calls) {
    for (const Value* v : body.inputs) define(v);
    nodes(body, /*nested=*/false);
    for (const Value* v : body.outputs) text += use(v);
  }

  std::string text;
  std::vector<Slot> slots;
  std::vector<Attribute> values;

 private:
  void define(const Value* v) { ids_.emplace(v, ids_.size()); }
  std::string use(const Value* v) const {
    return v ? " " + std::to_string(ids_.at(v)) : std::string(" -");
  }
  void parameter(Slot s, const Attribute& value) {
    slots.push_back(std::move(s));
    values.push_back(value);
  }

  void nodes(const Graph& g, bool nested) {
    for (const auto& n : g.nodes) node(*n, nested);
  }
  void node(Node& n, bool nested) {
    text += "\n" + bits(n.domain) + bits(n.op);
    for (const Value* v : n.inputs) text += use(v);
    for (const auto& [key, a] : n.attributes) {
      text += "\t" + bits(key);
      if (const int type = parameter_type(a)) {
        text += "?" + std::to_string(type);
        parameter({&n, key, 0}, a);
      } else {
        text += bits_of(a);
      }
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) graph(**inner);
    }
    if (const auto it = calls_.find(&n); it != calls_.end())
      for (size_t i = 0; i < it->second.values.size(); ++i)
        parameter({&n, "", i}, it->second.values[i]);
    text += " =";
    for (const Value* v : n.outputs) {
      text += v ? " v" : " -";
      if (!v) continue;
      define(v);
      if (nested) text += bits(v->type);
    }
  }
  // The types of values of a nested graph are written into the file.
  void graph(const Graph& g) {
    text += "{";
    for (const Value* v : g.inputs) {
      define(v);
      text += bits(v->type) + ";";
    }
    nodes(g, /*nested=*/true);
    for (const Value* v : g.outputs) text += use(v);
    text += "}";
  }

  const std::unordered_map<const Node*, Call>& calls_;
  std::unordered_map<const Value*, size_t> ids_;
};

// What nodes stand for already is no name for a function.
FunctionTable::FunctionTable(Model& m) : model_(m) {
  for (const Function& f : m.functions) taken_.insert(f.domain + "." + f.name);
  for_each_graph(m.graph, [&](Graph& g) {
    for (const auto& n : g.nodes)
      if (!n->domain.empty()) taken_.insert(n->domain + "." + n->op);
  });
}

std::string FunctionTable::free_name(const std::string& domain, const std::string& name) {
  for (int i = 0;; ++i) {
    const std::string candidate = i == 0 ? name : name + "_" + std::to_string(i);
    if (taken_.insert(domain + "." + candidate).second) return candidate;
  }
}

void FunctionTable::add(Node& call, Graph body, const std::string& module_class,
                        const std::string& path) {
  Canonical c(body, calls_);
  const auto [it, fresh] = known_.try_emplace(module_class + c.text, entries_.size());
  if (fresh) {
    const size_t dot = module_class.rfind('.');
    Entry e;
    e.function.domain = module_class.substr(0, dot);
    e.function.name = free_name(e.function.domain, module_class.substr(dot + 1));
    LocalNames(path).graph(body);
    e.function.body = std::move(body);
    e.slots = std::move(c.slots);
    entries_.push_back(std::move(e));
  } else {
    const auto forget = [&](const auto& self, const Graph& g) -> void {
      for (const auto& n : g.nodes) {
        calls_.erase(n.get());
        for (const auto& [key, a] : n->attributes)
          if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) self(self, **inner);
      }
    };
    forget(forget, body);
  }
  const Function& f = entries_[it->second].function;
  call.domain = f.domain;
  call.op = f.name;
  calls_[&call] = {it->second, std::move(c.values)};
}

void FunctionTable::find_sites(const Graph& g) {
  for (const auto& n : g.nodes) {
    if (const auto it = calls_.find(n.get()); it != calls_.end())
      entries_[it->second.function].sites.push_back(n.get());
    for (const auto& [key, a] : n->attributes)
      if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) find_sites(**inner);
  }
}

Attribute& FunctionTable::value_of(const Slot& s) {
  return s.attribute.empty() ? calls_.at(s.node).values[s.parameter]
                             : *s.node->attributes.find(s.attribute);
}

// Where a parameter that functions pass on ends.
const FunctionTable::Slot& FunctionTable::innermost(const Slot& s) const {
  const Slot* at = &s;
  while (at->attribute.empty()) at = &entries_[calls_.at(at->node).function].slots[at->parameter];
  return *at;
}

// All that calls `e` is settled: its values are literals or attributes of the callers.
void FunctionTable::settle(Entry& e) {
  NameAuthority names;
  for (size_t i = 0; i < e.slots.size(); ++i) {
    const auto given = [&](const Node* site) -> const Attribute& {
      return calls_.at(site).values[i];
    };
    const Attribute& first = given(e.sites[0]);
    const auto* passed_on = std::get_if<Reference>(&first);
    bool same = !passed_on;
    for (const Node* site : e.sites) same = same && bits_of(given(site)) == bits_of(first);
    Attribute& inside = value_of(e.slots[i]);
    if (same) {
      inside = first;
      continue;
    }
    const Slot& s = innermost(e.slots[i]);
    const std::string name =
        names.unique(s.node->is("Constant") ? s.node->outputs[0]->name : s.attribute);
    e.function.attributes.push_back(name);
    for (Node* site : e.sites) site->attributes.set(name, given(site));
    inside = Reference{name, passed_on ? passed_on->type : parameter_type(first)};
  }
}

void FunctionTable::finish() {
  find_sites(model_.graph);
  for (const Entry& e : entries_) find_sites(e.function.body);
  for (auto e = entries_.rbegin(); e != entries_.rend(); ++e) settle(*e);
  for (Entry& e : entries_) {
    model_.opsets.try_emplace(e.function.domain, 1);
    const auto import = [&](const auto& self, const Graph& g) -> void {
      for (const auto& n : g.nodes) {
        e.function.opsets[n->domain] = model_.opsets.at(n->domain);
        for (const auto& [key, a] : n->attributes)
          if (const auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) self(self, **inner);
      }
    };
    import(import, e.function.body);
    model_.functions.push_back(std::move(e.function));
  }
}

}  // namespace oe::functions
