// An If whose condition is known becomes the nodes of the branch it takes, and one whose branches
// do the same becomes the nodes of one of them.
//
//   <bool c = {1}>
//   y = If (c) <then_branch = t () => (a) {             y = Relu (x)
//     a = Relu (x)                                  =>
//   }, else_branch = ...>
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

using Nodes = std::vector<std::unique_ptr<Node>>;

// The type that tensors of both types have.
Type common(const Type& a, const Type& b) {
  if (a == b) return a;
  if (a.kind != Type::Kind::Tensor || b.kind != Type::Kind::Tensor || a.dtype != b.dtype) return {};
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return Type::tensor(a.dtype);
  std::vector<Dim> dims;
  for (size_t i = 0; i < a.shape->size(); ++i)
    dims.push_back((*a.shape)[i] == (*b.shape)[i] ? (*a.shape)[i] : Dim{});
  return Type::tensor(a.dtype, std::move(dims));
}

// Whether two graphs have the same nodes in the same order: operators, attributes, inputs. Types do
// not count.
class SameNodes {
 public:
  // The values of the first graph, and those of the second that they equal.
  const std::unordered_map<Value*, const Value*>& pairs() const { return pairs_; }

  bool same(const Graph& a, const Graph& b) {
    if (a.nodes.size() != b.nodes.size() || !match(a.inputs, b.inputs)) return false;
    for (size_t i = 0; i < a.nodes.size(); ++i)
      if (!same(*a.nodes[i], *b.nodes[i])) return false;
    return equal(a.outputs, b.outputs);
  }

 private:
  std::unordered_map<Value*, const Value*> pairs_;

  bool match(const std::vector<Value*>& a, const std::vector<Value*>& b) {
    if (a.size() != b.size()) return false;
    for (size_t i = 0; i < a.size(); ++i) {
      if (!a[i] != !b[i]) return false;
      if (a[i]) pairs_[a[i]] = b[i];
    }
    return true;
  }
  bool equal(const std::vector<Value*>& a, const std::vector<Value*>& b) const {
    return std::ranges::equal(a, b, [this](Value* x, const Value* y) {
      const auto it = pairs_.find(x);
      return (it == pairs_.end() ? x : it->second) == y;
    });
  }
  bool same(const Node& a, const Node& b) {
    return a.domain == b.domain && a.op == b.op && equal(a.inputs, b.inputs) &&
           same(a.attributes, b.attributes) && match(a.outputs, b.outputs);
  }
  bool same(const Attributes& a, const Attributes& b) {
    if (a.size() != b.size()) return false;
    return std::ranges::equal(a, b, [this](const auto& x, const auto& y) {
      if (x.first != y.first || x.second.index() != y.second.index()) return false;
      if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&x.second))
        return same(**g, *std::get<std::shared_ptr<Graph>>(y.second));
      if (const auto* t = std::get_if<TensorPtr>(&x.second))
        return same_content(**t, *std::get<TensorPtr>(y.second));
      return x.second == y.second;
    });
  }
};

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
        } else {
          taken = if_equal(*n);
        }
        branch = taken.get();
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

  // One branch, if the other does the same.
  static std::shared_ptr<Graph> if_equal(const Node& n) {
    const auto* a = n.attributes.get<std::shared_ptr<Graph>>("then_branch");
    const auto* b = n.attributes.get<std::shared_ptr<Graph>>("else_branch");
    SameNodes both;
    if (!a || !b || !both.same(**a, **b)) return nullptr;
    // Each may know more about its values than holds in the other.
    for (const auto& [v, w] : both.pairs()) v->type = common(v->type, w->type);
    return *a;
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
