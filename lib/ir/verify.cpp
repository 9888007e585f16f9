// Checks that a model is well formed: definitions before uses, unique names, producer links, types
// of initializers, opset imports. Linear in nodes and values.
#include <unordered_set>

#include "lib/ir/ir.h"

namespace oe::ir {
namespace {

class Verifier {
 public:
  explicit Verifier(const Model& m) : model_(m) {
    owned_.reserve(m.values.size());
    for (const Value& v : m.values) owned_.insert(&v);
  }

  std::vector<std::string> run() {
    if (!model_.opsets.contains("")) problem("no opset of the standard domain is imported");
    graph(model_.graph, nullptr);
    return std::move(problems_);
  }

 private:
  const Model& model_;
  std::vector<std::string> problems_;
  std::unordered_set<const Value*> owned_;
  std::unordered_set<const Value*> visible_;  // defined so far in the open graphs
  std::unordered_set<const Value*> seen_;     // defined anywhere
  std::unordered_set<std::string_view> names_;

  void problem(std::string text) { problems_.push_back(std::move(text)); }
  static std::string at(const Node& n) { return "node '" + n.name + "' (" + n.op + "): "; }

  void unique_name(const std::string& name, const char* what) {
    if (name.empty())
      problem(std::string(what) + " without a name");
    else if (!names_.insert(name).second)
      problem("name '" + name + "' is used more than once");
  }

  void define(const Value* v, const Node* producer, std::vector<const Value*>& here) {
    if (!owned_.contains(v)) {
      problem("a value is defined that the model does not own");
      return;
    }
    if (!seen_.insert(v).second) {
      problem("value '" + v->name + "' is defined more than once");
      return;
    }
    unique_name(v->name, "value");
    if (v->producer != producer)
      problem("value '" + v->name + "' names " +
              (v->producer ? "node '" + v->producer->name + "'" : std::string("no node")) +
              " as its producer, not " +
              (producer ? "node '" + producer->name + "'" : std::string("none")));
    if (producer && v->data) problem("value '" + v->name + "' is computed and has data");
    visible_.insert(v);
    here.push_back(v);
  }

  void initializer(const Value& v) {
    if (!v.data) {
      problem("initializer '" + v.name + "' has no data");
      return;
    }
    bool agrees = v.type.kind == Type::Kind::Tensor && v.type.dtype == v.data->dtype() &&
                  v.type.shape && v.type.shape->size() == v.data->dims().size();
    for (size_t i = 0; agrees && i < v.data->dims().size(); ++i)
      agrees = (*v.type.shape)[i] == Dim::of(v.data->dims()[i]);
    if (!agrees) problem("the type of initializer '" + v.name + "' does not match its data");
  }

  // `owner` is the node that holds a nested graph, null for the outermost one.
  void graph(const Graph& g, const Node* owner) {
    std::vector<const Value*> here;
    for (const Value* v : g.inputs) {
      if (!v)
        problem("graph '" + g.name + "' has an input that is null");
      else
        define(v, nullptr, here);
    }
    if (owner && !g.initializers.empty())
      problem(at(*owner) + "nested graph '" + g.name + "' has initializers");
    std::unordered_set<const Value*> inputs(g.inputs.begin(), g.inputs.end());
    for (const Value* v : g.initializers) {
      if (!v) {
        problem("graph '" + g.name + "' has an initializer that is null");
        continue;
      }
      if (!inputs.contains(v)) define(v, nullptr, here);
      initializer(*v);
    }
    for (const auto& n : g.nodes) node(*n, here);
    outputs(g, owner, here);
    for (const Value* v : here) visible_.erase(v);
  }

  void node(const Node& n, std::vector<const Value*>& here) {
    unique_name(n.name, "node");
    if (n.op.empty()) problem(at(n) + "has no operator");
    if (!model_.opsets.contains(n.domain))
      problem(at(n) + "domain '" + n.domain + "' is not imported");
    for (const Value* v : n.inputs)
      if (v && !visible_.contains(v))
        problem(at(n) + "uses '" + (owned_.contains(v) ? v->name : "?") + "' before it is defined");
    for (const auto& [key, a] : n.attributes) {
      if (const auto* t = std::get_if<TensorPtr>(&a); t && !*t)
        problem(at(n) + "attribute '" + key + "' is a null tensor");
      if (const auto* g = std::get_if<std::shared_ptr<Graph>>(&a)) {
        if (*g)
          graph(**g, &n);
        else
          problem(at(n) + "attribute '" + key + "' is a null graph");
      }
    }
    for (const Value* v : n.outputs)
      if (v) define(v, &n, here);
  }

  void outputs(const Graph& g, const Node* owner, const std::vector<const Value*>& here) {
    std::unordered_set<const Value*> local;
    if (owner) local.insert(here.begin(), here.end());
    std::unordered_set<const Value*> twice;
    for (const Value* v : g.outputs) {
      if (!v || !owned_.contains(v)) {
        problem("graph '" + g.name + "' has an output that the model does not own");
        continue;
      }
      if (!visible_.contains(v))
        problem("output '" + v->name + "' of graph '" + g.name + "' is not defined in it");
      else if (owner && !local.contains(v))
        problem(at(*owner) + "output '" + v->name + "' of nested graph '" + g.name +
                "' belongs to an outer graph; it needs an Identity");
      if (!twice.insert(v).second)
        problem("output '" + v->name + "' of graph '" + g.name + "' is listed twice");
    }
  }
};

}  // namespace

std::vector<std::string> verify(const Model& m) { return Verifier(m).run(); }

}  // namespace oe::ir
