// Nodes, outputs and initializers that nothing uses are removed, in nested graphs too: also the
// outputs of an If, the state and scan outputs of a Loop. Inputs of the model stay.
//
//   a = Exp (x)                                  y = Relu (x)
//   y, mask = Dropout (b)                   =>   ...
//   b = ...
#include <algorithm>
#include <array>
#include <unordered_map>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/pointer_map.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

// Operators whose outputs from the given index on may be left out.
size_t first_optional_output(const Node& n) {
  static constexpr std::array<std::pair<std::string_view, size_t>, 7> kRows = {{
      {"Dropout", 1},
      {"MaxPool", 1},
      {"LayerNormalization", 1},
      {"Unique", 1},
      {"LSTM", 0},
      {"GRU", 0},
      {"RNN", 0},
  }};
  for (const auto& [op, index] : kRows)
    if (n.is(op)) return index;
  return n.outputs.size();
}

const Graph* body_of(const Node& n, std::string_view name) {
  const auto* g = n.attributes.get<std::shared_ptr<Graph>>(name);
  return g ? g->get() : nullptr;
}

template <class T>
void erase_at(std::vector<T>& list, size_t i) {
  list.erase(list.begin() + static_cast<int64_t>(i));
}

class Liveness {
 public:
  explicit Liveness(Model& m)
      : model_(m), used_(m.graph.nodes.size()), live_(m.graph.nodes.size()) {}

  bool run() {
    index(model_.graph);
    for (Value* v : model_.graph.outputs) use(v);
    while (!work_.empty()) {
      Value* v = work_.back();
      work_.pop_back();
      if (v->producer) live(*v->producer, v);
      if (auto it = state_.find(v); it != state_.end())
        loop_state(*it->second.first, it->second.second);
    }
    sweep(model_.graph);
    initializers();
    return changed_;
  }

 private:
  Model& model_;
  PointerSet used_;
  std::vector<Value*> work_;
  PointerSet live_;
  // A Loop body's state input -> the Loop and the number of the state.
  std::unordered_map<const Value*, std::pair<Node*, size_t>> state_;
  bool changed_ = false;

  void use(Value* v) {
    if (v && used_.insert(v)) work_.push_back(v);
  }

  // Loop: outputs are states then scans; body inputs are (i, condition, states), its outputs
  // (condition, states, scans). Anything else about a malformed Loop is left alone.
  static bool is_plain_loop(const Node& n) {
    if (!n.is("Loop") || n.inputs.size() < 2) return false;
    const Graph* body = body_of(n, "body");
    return body && body->inputs.size() == n.inputs.size() &&
           body->outputs.size() == n.outputs.size() + 1 && n.outputs.size() + 2 >= n.inputs.size();
  }

  void index(Graph& g) {
    for (auto& n : g.nodes)
      for (auto& [key, a] : n->attributes)
        if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a)) {
          if (is_plain_loop(*n))
            for (size_t i = 2; i < (*sub)->inputs.size(); ++i)
              state_[(*sub)->inputs[i]] = {n.get(), i - 2};
          index(**sub);
        }
  }

  // Below opset 11 a Loop carries at least one state, used or not: the first one stays.
  bool needs_state() const { return model_.opset() != 0 && model_.opset() < 11; }

  void loop_state(Node& n, size_t k) {
    use(n.inputs[k + 2]);
    use(body_of(n, "body")->outputs[k + 1]);
  }

  void live(Node& n, const Value* out) {
    const bool first = live_.insert(&n);
    if (is_plain_loop(n)) {
      const auto k = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), out) -
                                         n.outputs.begin());
      const Graph* body = body_of(n, "body");
      use(body->outputs[k + 1]);
      if (k + 2 < n.inputs.size()) use(n.inputs[k + 2]);
      if (!first) return;
      use(body->outputs[0]);
      use(n.inputs[0]);
      use(n.inputs[1]);
      if (needs_state() && n.inputs.size() > 2) loop_state(n, 0);
      return;
    }
    if (n.is("If")) {
      const auto k = static_cast<size_t>(std::find(n.outputs.begin(), n.outputs.end(), out) -
                                         n.outputs.begin());
      for (std::string_view name : {"then_branch", "else_branch"})
        if (const Graph* g = body_of(n, name); g && k < g->outputs.size()) use(g->outputs[k]);
      if (first) use(n.input(0));
      return;
    }
    if (!first) return;
    for (Value* v : n.inputs) use(v);
    for (auto& [key, a] : n.attributes)
      if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a))
        for (Value* v : (*sub)->outputs) use(v);
  }

  void sweep(Graph& g) {
    const size_t before = g.nodes.size();
    std::erase_if(g.nodes, [&](const std::unique_ptr<Node>& n) {
      if (live_.contains(n.get())) return false;
      for (Value* v : n->outputs)
        if (v) v->producer = nullptr;
      return true;
    });
    changed_ |= g.nodes.size() != before;
    for (auto& n : g.nodes) {
      if (n->is("If"))
        trim_if(*n);
      else if (is_plain_loop(*n))
        trim_loop(*n);
      else
        trim_outputs(*n);
      for (auto& [key, a] : n->attributes)
        if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a)) sweep(**sub);
    }
  }

  void trim_if(Node& n) {
    for (size_t k = n.outputs.size(); k-- > 0;) {
      if (n.outputs[k] && used_.contains(n.outputs[k])) continue;
      if (n.outputs[k]) n.outputs[k]->producer = nullptr;
      erase_at(n.outputs, k);
      for (std::string_view name : {"then_branch", "else_branch"})
        if (auto* g = n.attributes.get<std::shared_ptr<Graph>>(name); g && k < (*g)->outputs.size())
          erase_at((*g)->outputs, k);
      changed_ = true;
    }
  }

  void trim_loop(Node& n) {
    Graph& body = **n.attributes.get<std::shared_ptr<Graph>>("body");
    const size_t states = n.inputs.size() - 2;
    for (size_t k = n.outputs.size(); k-- > 0;) {
      if (used_.contains(n.outputs[k])) continue;
      if (k < states) {
        if (used_.contains(body.inputs[k + 2])) continue;  // the loop itself needs it
        if (k == 0 && needs_state()) continue;
        erase_at(n.inputs, k + 2);
        erase_at(body.inputs, k + 2);
      }
      if (n.outputs[k]) n.outputs[k]->producer = nullptr;
      erase_at(n.outputs, k);
      erase_at(body.outputs, k + 1);
      changed_ = true;
    }
  }

  void trim_outputs(Node& n) {
    for (size_t k = first_optional_output(n); k < n.outputs.size(); ++k) {
      if (!n.outputs[k] || used_.contains(n.outputs[k])) continue;
      n.outputs[k]->producer = nullptr;
      n.outputs[k] = nullptr;
      changed_ = true;
    }
    while (n.outputs.size() > 1 && !n.outputs.back()) {
      n.outputs.pop_back();
      changed_ = true;
    }
  }

  void initializers() {
    const std::unordered_set<const Value*> inputs(model_.graph.inputs.begin(),
                                                  model_.graph.inputs.end());
    auto& list = model_.graph.initializers;
    const size_t before = list.size();
    std::erase_if(list, [&](Value* v) {
      if (used_.contains(v) || inputs.contains(v)) return false;
      v->data = nullptr;  // a weight that was folded into another form is no longer held
      return true;
    });
    changed_ |= list.size() != before;
  }
};

}  // namespace

bool remove_dead_code(Model& m, const Options&) { return Liveness(m).run(); }

}  // namespace oe::optimize
