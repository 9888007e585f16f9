// Calls of modules in a finished graph become ONNX functions.
#include "lib/functions/outline.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "lib/functions/function_table.h"
#include "lib/support/origin_text.h"

namespace oe::functions {

using namespace ir;

namespace {

constexpr int64_t kMostElements = 16;  // of a constant that moves into a function: axes, shapes

const ModuleCall* call_of(const Node& n) { return n.origin ? n.origin->call.get() : nullptr; }

bool within(const Node& n, const ModuleCall* call) {
  const ModuleCall* c = call_of(n);
  while (c && c != call) c = c->parent.get();
  return c;
}

// A function has no initializers: small ones that are no weights become nodes. Scalars and lists of
// the types that attributes have are such attributes, so that calls may differ in them.
Attributes constant_attributes(const Tensor& t) {
  const bool scalar = t.dims().empty();
  if (t.dtype() == DType::Int64) {
    if (scalar) return {{"value_int", t.as_int64()[0]}};
    return {{"value_ints", t.as_int64()}};
  }
  if (t.dtype() == DType::Float) {
    const auto values = t.values<float>();
    if (scalar) return {{"value_float", values[0]}};
    return {{"value_floats", Floats(values.begin(), values.end())}};
  }
  // Of its own, so that the data of no function lies in a file beside the model.
  return {{"value", std::make_shared<const Tensor>(t)}};
}

bool is_small_constant(const Value& v) {
  return v.data && !v.state && v.data->dims().size() <= 1 && v.data->numel() <= kMostElements;
}

using Counts = std::unordered_map<const Value*, size_t>;

// The nodes of a call in one graph, and what they read and make.
struct Region {
  std::vector<size_t> places;  // of the nodes in the graph, ascending
  std::unordered_set<const Value*> defined;
  Counts reads;
  std::vector<Value*> inputs, constants, outputs;
};

class Outliner {
 public:
  Outliner(Model& m, const std::vector<std::string>& classes)
      : model_(m), classes_(classes.begin(), classes.end()), table_(m) {}

  void run() {
    for_each_graph(model_.graph, [&](Graph& g) {
      for (const auto& n : g.nodes)
        for (const Value* v : n->inputs)
          if (v) ++uses_[v];
      for (const Value* v : g.outputs) ++uses_[v];
    });
    graph(model_.graph, nullptr);
    table_.finish();
    const std::unordered_set<const Value*> inputs(model_.graph.inputs.begin(),
                                                  model_.graph.inputs.end());
    std::erase_if(model_.graph.initializers, [&](const Value* v) {
      const auto it = uses_.find(v);
      return it != uses_.end() && it->second == 0 && !inputs.contains(v);
    });
  }

 private:
  bool wanted(const ModuleCall& c) const {
    return classes_.empty() || classes_.contains(c.module_class) ||
           classes_.contains(c.module_class.substr(c.module_class.rfind('.') + 1));
  }

  // `owner`: the call whose node holds the graph. It and those around it are no matter of the
  // graph.
  void graph(Graph& g, const ModuleCall* owner) {
    for (const auto& n : g.nodes)
      for (auto& [key, a] : n->attributes)
        if (auto* inner = std::get_if<std::shared_ptr<Graph>>(&a)) graph(**inner, call_of(*n));
    for (const Extent& e : extents(g, owner)) outline(g, e.call, e.first, e.last);
    std::erase(g.nodes, nullptr);
  }

  struct Extent {
    const ModuleCall* call;
    size_t depth, first, last;  // of all its nodes
  };
  // Those of the wanted calls, innermost first.
  std::vector<Extent> extents(const Graph& g, const ModuleCall* owner) const {
    std::unordered_set<const ModuleCall*> around;
    for (; owner; owner = owner->parent.get()) around.insert(owner);
    std::unordered_map<const ModuleCall*, size_t> known;
    std::vector<Extent> all;
    for (size_t i = 0; i < g.nodes.size(); ++i) {
      size_t depth = 0;
      for (const ModuleCall* c = call_of(*g.nodes[i]); c; c = c->parent.get()) ++depth;
      for (const ModuleCall* c = call_of(*g.nodes[i]); c && !around.contains(c);
           c = c->parent.get(), --depth) {
        const auto [it, fresh] = known.try_emplace(c, all.size());
        if (fresh) all.push_back({c, depth, i, i});
        all[it->second].last = i;
      }
    }
    std::erase_if(all, [&](const Extent& e) { return !wanted(*e.call); });
    std::ranges::stable_sort(all, std::greater<>(), &Extent::depth);
    return all;
  }

  void outline(Graph& g, const ModuleCall* call, size_t first, size_t last) {
    Region r;
    for (size_t i = first; i <= last; ++i)
      if (g.nodes[i] && within(*g.nodes[i], call)) r.places.push_back(i);
    leave_shared_sizes(g, r);
    if (r.places.empty()) return;
    for (const size_t i : r.places)
      for_each_definition(*g.nodes[i], [&](const Value* v) { r.defined.insert(v); });
    std::vector<size_t> before, after;
    if (!place_others(g, r, first, last, before, after)) return;
    find_ports(g, r);
    if (r.outputs.empty()) return;

    std::vector<std::unique_ptr<Node>> span;
    for (const size_t i : before) span.push_back(std::move(g.nodes[i]));
    span.push_back(take_out(g, r, *call));
    for (const size_t i : after) span.push_back(std::move(g.nodes[i]));
    span.resize(last - first + 1);
    std::ranges::move(span, g.nodes.begin() + static_cast<std::ptrdiff_t>(first));
  }

  // Sizes of what comes from outside that others read too: they are computed once, by whoever asked
  // first, and no more its business than theirs.
  void leave_shared_sizes(const Graph& g, Region& r) const {
    std::unordered_set<const Value*> made, sizes;
    Counts reads;
    const auto is_size = [&](const Node& n) {
      if (n.is("Shape") || n.is("Size")) return !made.contains(n.inputs[0]);
      bool any = false;
      for (const Value* v : n.inputs) {
        const bool size = v && sizes.contains(v);
        if (v && !v->data && !size) return false;
        any |= size;
      }
      return any;
    };
    for (const size_t i : r.places) {
      const Node& n = *g.nodes[i];
      for_each_read(n, [&](const Value* v) { ++reads[v]; });
      if (is_size(n)) sizes.insert(n.outputs[0]);
      for (const Value* v : n.outputs) made.insert(v);
    }
    if (sizes.empty()) return;
    std::unordered_set<size_t> left;
    for (auto i = r.places.rbegin(); i != r.places.rend(); ++i) {
      const Node& n = *g.nodes[*i];
      const Value* out = n.outputs[0];
      const auto all = uses_.find(out);
      if (!sizes.contains(out) || all == uses_.end() || all->second <= reads[out]) continue;
      left.insert(*i);
      for_each_read(n, [&](const Value* v) { --reads[v]; });
    }
    std::erase_if(r.places, [&](size_t i) { return left.contains(i); });
  }

  // The nodes between those of the region: which go before the call and which behind. False where
  // one needs what the region makes, and the region what that one makes.
  static bool place_others(const Graph& g, const Region& r, size_t first, size_t last,
                           std::vector<size_t>& before, std::vector<size_t>& after) {
    std::unordered_set<const Value*> depends;
    auto own = r.places.begin();
    for (size_t i = first; i <= last; ++i) {
      const bool inside = own != r.places.end() && *own == i;
      if (inside) ++own;
      if (!g.nodes[i]) continue;
      bool late = false;
      for_each_read(*g.nodes[i], [&](const Value* v) {
        late |= depends.contains(v) || (!inside && r.defined.contains(v));
      });
      if (inside && late) return false;
      if (inside) continue;
      (late ? after : before).push_back(i);
      if (late) depends.insert(g.nodes[i]->outputs.begin(), g.nodes[i]->outputs.end());
    }
    return true;
  }

  // Computed inputs stand before weights, each in the order in which they are read.
  void find_ports(const Graph& g, Region& r) const {
    std::vector<Value*> weights;
    for (const size_t i : r.places)
      for_each_read(*g.nodes[i], [&](Value* v) {
        if (r.reads[v]++ > 0 || r.defined.contains(v)) return;
        (is_small_constant(*v) ? r.constants : v->data ? weights : r.inputs).push_back(v);
      });
    r.inputs.insert(r.inputs.end(), weights.begin(), weights.end());
    for (const size_t i : r.places)
      for (Value* v : g.nodes[i]->outputs)
        if (v && uses_.contains(v) && uses_.at(v) > r.reads[v]) r.outputs.push_back(v);
  }

  // The node that stands for the region from now on.
  std::unique_ptr<Node> take_out(Graph& g, const Region& r, const ModuleCall& call) {
    Graph body;
    std::unordered_map<const Value*, Value*> local;
    const auto own = [&](Value* v, std::vector<Value*>& list) {
      model_.values.push_back({v->name, v->type, nullptr, nullptr});
      local[v] = &model_.values.back();
      list.push_back(local[v]);
    };
    for (Value* v : r.inputs) own(v, body.inputs);
    for (Value* v : r.outputs) own(v, body.outputs);
    for (size_t i = 0; i < r.inputs.size(); ++i)
      if (!r.inputs[i]->data && !r.inputs[i]->state) body.inputs[i]->name = "x";
    for (Value* v : r.constants) {
      auto n = std::make_unique<Node>();
      n->name = n->op = "Constant";
      n->attributes = constant_attributes(*v->data);
      own(v, n->outputs);
      n->outputs[0]->producer = n.get();
      body.nodes.push_back(std::move(n));
    }
    for (const size_t i : r.places) {
      replace(*g.nodes[i], local);
      body.nodes.push_back(std::move(g.nodes[i]));
    }

    Origin origin{"prim::CallMethod", call.module_path, "", 0, "", call.parent};
    std::string name = node_prefix(call.module_path);
    name.pop_back();
    auto node = make_node(model_, name, "", r.inputs, r.outputs, {},
                          std::make_shared<const Origin>(std::move(origin)));
    for (const auto& [v, count] : r.reads)
      if (const auto it = uses_.find(v); it != uses_.end()) it->second -= count;
    for (const Value* v : r.inputs) ++uses_[v];
    table_.add(*node, std::move(body), call.module_class, call.module_path);
    return node;
  }

  static void replace(Node& n, const std::unordered_map<const Value*, Value*>& by) {
    const auto each = [&](std::vector<Value*>& list) {
      for (Value*& v : list)
        if (const auto it = by.find(v); it != by.end()) v = it->second;
    };
    each(n.inputs);
    each(n.outputs);
    for (Value* v : n.outputs)
      if (v) v->producer = &n;
    for (auto& [key, a] : n.attributes)
      if (auto* g = std::get_if<std::shared_ptr<Graph>>(&a)) {
        for (const auto& inner : (*g)->nodes) replace(*inner, by);
        each((*g)->outputs);
      }
  }

  Model& model_;
  std::unordered_set<std::string> classes_;
  FunctionTable table_;
  Counts uses_;  // of each value in all graphs, functions left out
};

}  // namespace

void outline_modules(Model& m, const std::vector<std::string>& classes) {
  Outliner(m, classes).run();
}

}  // namespace oe::functions
