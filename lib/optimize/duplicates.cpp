// Equal nodes with equal inputs become one; a nested graph may use what the outer graphs computed.
//
//   a = Shape (x)
//   b = Shape (x)
//   y = Concat <axis = 0> (a, b)    =>  y = Concat <axis = 0> (a, a)
//
// Operators that draw random numbers, and those of other domains, are left alone; so are sequences
// of other elements: of two empty ones each is what will be put into it.
#include <bit>
#include <functional>
#include <unordered_set>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {
namespace {

using namespace ir;

struct Hash {
  static void mix(size_t& h, size_t v) { h ^= v + 0x9e3779b97f4a7c15ull + (h << 12) + (h >> 4); }
  static size_t of(int64_t v) { return static_cast<size_t>(v) * 0xff51afd7ed558ccdull; }
  static size_t of(float v) { return of(int64_t{std::bit_cast<uint32_t>(v)}); }
  static size_t of(const std::string& v) { return std::hash<std::string>()(v); }
  static size_t of(const TensorPtr& t) { return t ? of(t->numel()) : 0; }
  static size_t of(const std::shared_ptr<Graph>&) { return 0; }
  static size_t of(const Reference& r) { return of(r.name); }
  static size_t of(const Type& t) { return of(static_cast<int64_t>(t.dtype)); }
  template <class T>
  static size_t of(const std::vector<T>& list) {
    size_t h = list.size();
    for (const T& v : list) mix(h, of(v));
    return h;
  }

  size_t operator()(const Node* n) const {
    size_t h = of(n->op);
    for (const Value* v : n->inputs) mix(h, std::hash<const Value*>()(v));
    for (const auto& [key, a] : n->attributes) {
      mix(h, of(key));
      std::visit([&](const auto& v) { mix(h, of(v)); }, a);
    }
    return h;
  }
};

bool same(float a, float b) { return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b); }

bool same(const Attribute& a, const Attribute& b) {
  if (a.index() != b.index()) return false;
  if (const auto* f = std::get_if<float>(&a)) return same(*f, std::get<float>(b));
  if (const auto* f = std::get_if<Floats>(&a)) {
    const auto& g = std::get<Floats>(b);
    if (f->size() != g.size()) return false;
    for (size_t i = 0; i < g.size(); ++i)
      if (!same((*f)[i], g[i])) return false;
    return true;
  }
  if (const auto* t = std::get_if<TensorPtr>(&a)) {
    const auto& u = std::get<TensorPtr>(b);
    return *t == u || (*t && u && same_content(**t, *u));
  }
  return a == b;
}

bool same_elements(const Type& a, const Type& b) {
  return a.kind != Type::Kind::Sequence || a == b;
}

struct Same {
  bool operator()(const Node* a, const Node* b) const {
    if (a->op != b->op || a->inputs != b->inputs || a->outputs.size() != b->outputs.size() ||
        a->attributes.size() != b->attributes.size())
      return false;
    for (size_t i = 0; i < a->outputs.size(); ++i)
      if (!a->outputs[i] != !b->outputs[i] ||
          (a->outputs[i] && !same_elements(a->outputs[i]->type, b->outputs[i]->type)))
        return false;
    auto other = b->attributes.begin();
    for (const auto& [key, value] : a->attributes) {
      if (key != other->first || !same(value, other->second)) return false;
      ++other;
    }
    return true;
  }
};

// Not a Rewriter's walk: what a nested graph computed is forgotten when it ends.
class Merging {
 public:
  explicit Merging(Model& m) : model_(m) {
    for_each_graph(m.graph,
                   [this](Graph& g) { outputs_.insert(g.outputs.begin(), g.outputs.end()); });
  }

  bool run() {
    seen_.reserve(model_.graph.nodes.size());
    graph(model_.graph);
    return changed_;
  }

 private:
  Model& model_;
  std::unordered_set<const Value*> outputs_;
  std::unordered_set<Node*, Hash, Same> seen_;
  std::unordered_map<const Value*, Value*> replaced_;
  bool changed_ = false;

  void graph(Graph& g) {
    std::vector<Node*> here;
    std::vector<std::unique_ptr<Node>> fresh;
    fresh.reserve(g.nodes.size());
    for (auto& n : g.nodes) {
      if (!replaced_.empty())
        for (Value*& v : n->inputs)
          if (auto it = replaced_.find(v); it != replaced_.end()) v = it->second;
      bool nested = false;
      for (auto& [key, a] : n->attributes)
        if (auto* sub = std::get_if<std::shared_ptr<Graph>>(&a)) {
          nested = true;
          graph(**sub);
        }
      // Identity is how two outputs hold one value.
      if (!nested && n->domain.empty() && !n->is("Identity") && !is_random(*n)) {
        auto [it, first] = seen_.insert(n.get());
        if (first)
          here.push_back(n.get());
        else if (merge(*n, **it))
          continue;
      }
      fresh.push_back(std::move(n));
    }
    if (&g != &model_.graph)
      for (Node* n : here) seen_.erase(n);
    g.nodes = std::move(fresh);
  }

  // Whether `n` goes away. A graph's output keeps its name, as a copy of the first node's result.
  bool merge(Node& n, const Node& first) {
    bool output = false;
    for (const Value* v : n.outputs) output |= v && outputs_.contains(v);
    if (output && n.outputs.size() > 1) return false;
    changed_ = true;
    if (output) {
      n.op = "Identity";
      n.inputs = {first.outputs[0]};
      n.attributes = {};
      return false;
    }
    for (size_t i = 0; i < n.outputs.size(); ++i) {
      if (!n.outputs[i]) continue;
      refine(first.outputs[i]->type, n.outputs[i]->type);
      n.outputs[i]->producer = nullptr;
      replaced_[n.outputs[i]] = first.outputs[i];
    }
    return true;
  }
};

}  // namespace

bool remove_duplicates(Model& m, const Options&) { return Merging(m).run(); }

}  // namespace oe::optimize
