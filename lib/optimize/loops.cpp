// Loops do less in each run of the body.
//
// A state that the body returns as it came is no state:
//   y, z = Loop (n, c, a, b) <body (i, k, u, v) => (k, u, w) {...}>
//                                =>  z = Loop (n, c, b) <body (i, k, v) => (k, w) {...}>, y = a
// A state that begins empty and that every run appends a row to is a scan output:
//   y = Loop (n, c, empty) <body (i, k, s) => (k, t) {..., u = Unsqueeze (e, {0}), t = Concat (s,
//   u)}>
//                                =>  y = Loop (n, c) <body (i, k) => (k, e) {...}>
// Nodes that depend on nothing in the body, and cannot fail, move before the Loop.
// A Loop that runs once becomes the nodes of its body.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/ir/traits.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using namespace ir;

namespace {

// Operators that compute something for every input; others may fail where the Loop does not run.
bool cannot_fail(const Node& n) {
  if (traits_of(n).has(kElementwise) || n.is("Shape") || n.is("Size") || n.is("Transpose"))
    return true;
  if (traits_of(n).dims != DimRule::Broadcast) return false;
  // Their shapes fit: all but one have one element.
  return std::ranges::count_if(n.inputs, [](const Value* v) { return v->rank() != 0; }) <= 1;
}

class Loops {
 public:
  explicit Loops(Model& m) : r_(m) {}

  bool run() {
    return r_.walk([this](Node& n) {
      auto* body = n.is("Loop") ? n.attributes.get<std::shared_ptr<Graph>>("body") : nullptr;
      if (!body || n.inputs.size() < 2 || (*body)->inputs.size() != n.inputs.size() ||
          (*body)->outputs.size() != n.outputs.size() + 1 || n.outputs.size() + 2 < n.inputs.size())
        return;
      const std::shared_ptr<Graph> g = *body;
      if (runs_once(n)) return inline_body(n, *g);
      constant_states(n, *g);
      rows(n, *g);
      invariants(*g);
    });
  }

 private:
  Rewriter r_;

  bool is_number(const Value* v, int64_t number) const {
    const TensorPtr t = r_.constant(v);
    return t && t->numel() == 1 && (t->dtype() == DType::Int64 || t->dtype() == DType::Bool) &&
           (t->dtype() == DType::Int64 ? t->values<int64_t>()[0] : t->values<uint8_t>()[0]) ==
               number;
  }
  bool runs_once(const Node& n) const {
    return is_number(n.inputs[0], 1) && (!n.inputs[1] || is_number(n.inputs[1], 1));
  }

  using Values = std::unordered_map<const Value*, Value*>;
  static void replace(Graph& body, const Values& by) {
    for_each_graph(body, [&](Graph& g) {
      for (auto& n : g.nodes)
        for (Value*& v : n->inputs)
          if (const auto it = by.find(v); it != by.end()) v = it->second;
    });
  }

  void inline_body(Node& n, Graph& body) {
    Model& m = r_.model();
    Values by;
    by[body.inputs[0]] =
        m.new_initializer(n.name + "_i", Tensor::of<int64_t>(DType::Int64, {}, {0}));
    by[body.inputs[1]] =
        n.inputs[1] ? n.inputs[1]
                    : m.new_initializer(n.name + "_c", Tensor::of<uint8_t>(DType::Bool, {}, {1}));
    for (size_t i = 2; i < n.inputs.size(); ++i) by[body.inputs[i]] = n.inputs[i];
    replace(body, by);
    for (auto& inner : body.nodes) r_.take(std::move(inner));
    body.nodes.clear();
    const size_t states = n.inputs.size() - 2;
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      Value *out = n.outputs[k], *from = body.outputs[k + 1];
      if (!out) continue;
      if (const auto it = by.find(from); it != by.end()) from = it->second;
      std::vector<Value*> inputs = {from};
      if (k >= states) inputs.push_back(r_.new_ints(n.name + "_axis", {0}));
      r_.take(make_node(m, n.name + "_output", k < states ? "Identity" : "Unsqueeze",
                        std::move(inputs), {out}, {}, n.origin));
    }
    n.outputs.assign(n.outputs.size(), nullptr);
    r_.drop();
  }

  void constant_states(Node& n, Graph& body) {
    Values by;
    for (size_t k = 0; k + 2 < n.inputs.size(); ++k) {
      const Value* in = body.inputs[k + 2];
      const Value* out = body.outputs[k + 1];
      if (const Node* copy = produced_by(out, "Identity")) out = copy->inputs[0];
      if (out != in || !n.inputs[k + 2]) continue;
      by[in] = n.inputs[k + 2];
      if (n.outputs[k] && !r_.is_output(n.outputs[k]) && replaced_.insert(n.outputs[k]).second)
        r_.replace_output(n, k, n.inputs[k + 2]);
    }
    // The Identity that returns the state still reads it.
    std::unordered_set<const Node*> copies;
    for (const Value* v : body.outputs) copies.insert(produced_by(v, "Identity"));
    for_each_graph(body, [&](Graph& g) {
      for (auto& inner : g.nodes) {
        if (copies.contains(inner.get())) continue;
        for (Value*& v : inner->inputs)
          if (const auto it = by.find(v); it != by.end()) {
            v = it->second;
            r_.mark_changed();
          }
      }
    });
  }
  std::unordered_set<const Value*> replaced_;

  static bool is_static(const Value* v) {
    return has_rank(v) &&
           std::ranges::all_of(*v->type.shape, [](const Dim& d) { return d.is_number(); });
  }
  // The row that a run appends to state `k`, if it does nothing else with the state; else null.
  Value* appended(const Node& n, const Graph& body, size_t k) const {
    const TensorPtr init = r_.constant(n.inputs[k + 2]);
    const Node* concat = produced_by(body.outputs[k + 1], "Concat");
    if (!init || init->numel() != 0 || init->dims().empty() || init->dims()[0] != 0 || !concat ||
        concat->inputs.size() != 2 || concat->inputs[0] != body.inputs[k + 2] ||
        concat->attributes.get_or<int64_t>("axis", 1) != 0 || !n.outputs[k])
      return nullptr;
    const Node* row = produced_by(concat->inputs[1], "Unsqueeze");
    const auto axes = row ? r_.ints(row->inputs[1]) : std::nullopt;
    if (!axes || *axes != Ints{0}) return nullptr;
    Value* e = row->inputs[0];
    // Without a run there are no rows of the right length, which only numbers tell.
    if (!is_static(e) || r_.is_output(e)) return nullptr;
    const std::vector<int64_t> dims(init->dims().begin() + 1, init->dims().end());
    if (!std::ranges::equal(*e->type.shape, dims, {}, &Dim::number)) return nullptr;
    bool own = false;
    size_t readers = 0;
    for_each_graph(body, [&](const Graph& g) {
      for (const auto& inner : g.nodes) {
        own |= &g == &body && inner.get() == e->producer;
        readers += static_cast<size_t>(std::ranges::count(inner->inputs, body.inputs[k + 2]));
        readers += static_cast<size_t>(std::ranges::count(inner->inputs, body.outputs[k + 1]));
      }
    });
    return own && readers == 1 ? e : nullptr;
  }

  void rows(Node& n, Graph& body) {
    for (size_t k = n.inputs.size() - 2; k-- > 0;) {
      Value* e = appended(n, body, k);
      if (!e) continue;
      const auto at = static_cast<std::ptrdiff_t>(k);
      body.outputs.push_back(e);
      n.outputs.push_back(n.outputs[k]);
      n.inputs.erase(n.inputs.begin() + at + 2);
      n.outputs.erase(n.outputs.begin() + at);
      body.inputs.erase(body.inputs.begin() + at + 2);
      const Value* old = body.outputs[k + 1];
      body.outputs.erase(body.outputs.begin() + at + 1);
      // Nothing reads the Concat any more, and its state is gone.
      std::erase_if(body.nodes, [&](const auto& inner) { return inner.get() == old->producer; });
      r_.mark_changed();
    }
  }

  void invariants(Graph& body) {
    std::unordered_set<const Value*> inside(body.inputs.begin(), body.inputs.end());
    std::vector<std::unique_ptr<Node>> left;
    for (auto& n : body.nodes) {
      const auto depends = [&](const Value* v) { return inside.contains(v); };
      const bool moves = n->outputs.size() == 1 && !r_.is_output(n->outputs[0]) &&
                         cannot_fail(*n) && std::ranges::none_of(n->inputs, depends);
      if (moves) {
        r_.take(std::move(n));
        continue;
      }
      inside.insert(n->outputs.begin(), n->outputs.end());
      left.push_back(std::move(n));
    }
    body.nodes = std::move(left);
  }
};

}  // namespace

bool simplify_loops(Model& m, const Options&) { return Loops(m).run(); }

}  // namespace oe::optimize
