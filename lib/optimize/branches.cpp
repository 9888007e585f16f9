// An If whose condition is known becomes the nodes of the branch it takes.
//
//   <bool c = {1}>
//   y = If (c) <then_branch = t () => (a) {             y = Relu (x)
//     a = Relu (x)                                  =>
//   }, else_branch = ...>
#include <unordered_map>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

using Nodes = std::vector<std::unique_ptr<Node>>;

class Inliner {
 public:
  explicit Inliner(Model& m) : model_(m), rewriter_(m) {}

  bool run() {
    graph(model_.graph);
    return changed_;
  }

 private:
  Model& model_;
  const Rewriter rewriter_;  // only to tell constants from overridable initializers
  std::unordered_map<const Value*, Value*> renamed_;  // a branch's output -> the If's output
  bool changed_ = false;

  Value* resolve(Value* v) const {
    // An If as the last node of an inlined branch makes a chain, as long as the nesting is deep.
    for (auto it = renamed_.find(v); it != renamed_.end(); it = renamed_.find(v)) v = it->second;
    return v;
  }

  void graph(Graph& g) {
    Nodes fresh;
    fresh.reserve(g.nodes.size());
    nodes(g.nodes, fresh);
    g.nodes = std::move(fresh);
  }

  void nodes(Nodes& from, Nodes& into) {
    for (auto& n : from) {
      if (!renamed_.empty()) {
        for (Value*& v : n->inputs) v = resolve(v);
        for (Value*& v : n->outputs) {
          Value* to = resolve(v);
          if (to != v) to->producer = n.get();
          v = to;
        }
      }
      const Graph* branch = nullptr;
      std::shared_ptr<Graph> taken;
      if (n->is("If")) {
        const TensorPtr c = rewriter_.constant(n->input(0));
        if (c && c->dtype() == DType::Bool && c->numel() == 1) {
          const auto* g = n->attributes.get<std::shared_ptr<Graph>>(
              c->values<uint8_t>()[0] ? "then_branch" : "else_branch");
          if (g) taken = *g;
          branch = taken.get();
        }
      }
      if (branch && branch->outputs.size() == n->outputs.size()) {
        inline_branch(*n, *taken, into);
        continue;
      }
      for (auto& [key, a] : n->attributes)
        if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a)) graph(**sub);
      into.push_back(std::move(n));
    }
  }

  void inline_branch(Node& n, Graph& branch, Nodes& into) {
    changed_ = true;
    // A well formed nested graph computes its outputs; text of others gives outer values as
    // outputs.
    std::unordered_set<const Node*> own;
    for (const auto& inner : branch.nodes) own.insert(inner.get());
    std::vector<std::pair<Value*, Value*>> copies;
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      Value *inner = branch.outputs[i], *outer = n.outputs[i];
      if (!outer) continue;
      if (own.contains(inner->producer) && !renamed_.contains(inner)) {
        refine(outer->type, inner->type);
        renamed_[inner] = outer;
      } else {
        copies.emplace_back(inner, outer);
      }
    }
    nodes(branch.nodes, into);
    for (auto [inner, outer] : copies)
      into.push_back(make_node(model_, n.name + "_Identity", "Identity", {resolve(inner)}, {outer},
                               {}, n.origin));
  }
};

}  // namespace

bool inline_branches(Model& m, const Options&) { return Inliner(m).run(); }

}  // namespace oe::optimize
