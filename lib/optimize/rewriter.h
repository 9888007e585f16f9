// The walk that the passes share: every node of every graph once, definitions before uses.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "lib/ir/ir.h"

namespace oe::optimize {

// Adds what `from` knows about the same tensor to `into`: dims that are numbers, a missing shape.
void refine(ir::Type& into, const ir::Type& from);

// The producer of `v` when it is a node of the standard operator `op`, else null.
ir::Node* produced_by(const ir::Value* v, std::string_view op);

// How often each value is read, as an input or as an output of a graph.
std::unordered_map<const ir::Value*, size_t> use_counts(const ir::Model& m);

// Producers that a pass may change for the sake of one reader. Nodes and uses as they are when it
// is made: what a pass adds later has no owner.
class Owners {
 public:
  explicit Owners(const ir::Model& m);
  // The node that makes `v`, where it runs as often as `reader` and `reader` is the only one that
  // reads `v`; else null.
  ir::Node* producer(const ir::Value* v, const ir::Node& reader) const;
  // How often `v` is read; 0: it was made later.
  size_t uses(const ir::Value* v) const {
    const auto it = uses_.find(v);
    return it == uses_.end() ? 0 : it->second;
  }
  // A pass made one more node read `v`.
  void add_use(const ir::Value* v) { ++uses_[v]; }

 private:
  std::unordered_map<const ir::Value*, size_t> uses_;
  std::unordered_map<const ir::Node*, const ir::Graph*> home_;
};

// Whether `v` is there, is a tensor, and has a known rank.
inline bool has_rank(const ir::Value* v) {
  return v && v->type.kind == ir::Type::Kind::Tensor && v->type.shape.has_value();
}

bool has_graphs(const ir::Node& n);
// Operators that give another result each time they run; they are never folded or merged.
bool is_random(const ir::Node& n);

class Rewriter {
 public:
  explicit Rewriter(ir::Model& m);

  // Calls rule(node) for every node, nested graphs before the node that holds them. Inputs are
  // already what earlier rules made of them. A rule may change the node in place, and may call
  // forward(), become_constant(), insert() and drop() for it.
  template <class Rule>
  bool walk(const Rule& rule) {
    walk_graph(model_.graph, rule);
    return changed_;
  }

  ir::Model& model() { return model_; }
  bool changed() const { return changed_; }
  // Whether the current node is in the main graph: what it computes is in sight of all later nodes.
  bool in_main_graph() const { return depth_ == 1; }
  void mark_changed() { changed_ = true; }

  // Whether `v` is an output of any graph: its name, or its place in a nested graph, is an
  // interface.
  bool is_output(const ir::Value* v) const { return outputs_.contains(v); }
  // The data of an initializer that no caller can override; null for anything else.
  TensorPtr constant(const ir::Value* v) const;
  // The same for a short list of int64 or int32 numbers.
  std::optional<ir::Ints> ints(const ir::Value* v) const;

  // A new initializer with these numbers as int64.
  ir::Value* new_ints(const std::string& name, const ir::Ints& numbers);

  // The current node's only output is the same tensor as `by`, which is defined before it: uses are
  // redirected and the node goes away, or becomes Identity where its output is a graph's.
  void forward(ir::Node& n, ir::Value* by);
  // The current node's output is known: it becomes an initializer (a fresh one with an Identity
  // where it is a graph's output). `name`: the initializer's name; empty: the output's own.
  void become_constant(ir::Node& n, TensorPtr data, std::string_view name = {});
  // The same for output `index` of a node that stays until every output is replaced.
  void replace_output(ir::Node& n, size_t index, ir::Value* by);
  // A node before the current one; returns its only output.
  ir::Value* insert(ir::Node& before, std::string_view op, std::vector<ir::Value*> inputs,
                    ir::Type type, ir::Attributes attributes = {});
  // The earlier node `by` writes the current node's only output, and the current node goes away.
  void output_from(ir::Node& n, ir::Node& by);
  // A node of a graph inside the current node, now before the current node.
  void take(std::unique_ptr<ir::Node> n) {
    sink_->push_back(std::move(n));
    changed_ = true;
  }
  // The current node goes away.
  void drop() { drop_ = true; }

 private:
  template <class Rule>
  void walk_graph(ir::Graph& g, const Rule& rule) {
    std::vector<std::unique_ptr<ir::Node>> old, fresh;
    old.swap(g.nodes);
    fresh.reserve(old.size());
    ++depth_;
    for (auto& n : old) {
      resolve_inputs(*n);
      for (auto& [key, a] : n->attributes)
        if (auto* sub = std::get_if<std::shared_ptr<ir::Graph>>(&a)) walk_graph(**sub, rule);
      sink_ = &fresh;
      drop_ = false;
      rule(*n);
      if (drop_)
        release(*n);
      else
        fresh.push_back(std::move(n));
    }
    --depth_;
    g.nodes = std::move(fresh);
  }

  void resolve_inputs(ir::Node& n);
  void release(ir::Node& n);

  ir::Model& model_;
  std::unordered_set<const ir::Value*> outputs_;
  std::unordered_set<const ir::Value*> overridable_;  // initializers that are inputs too
  std::unordered_map<const ir::Value*, ir::Value*> replaced_;
  std::vector<std::unique_ptr<ir::Node>>* sink_ = nullptr;
  int depth_ = 0;  // of nested graphs
  bool drop_ = false;
  bool changed_ = false;
};

}  // namespace oe::optimize
