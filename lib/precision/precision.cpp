// Puts a plan into the graph: element types, casts and rounded weights.
#include "lib/precision/precision.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "lib/onnx/schema.h"
#include "lib/precision/plan.h"
#include "lib/support/text.h"
#include "opsets/ort_gaps.h"

namespace oe::precision {
namespace {

using Nodes = std::vector<std::unique_ptr<ir::Node>>;

std::string folder_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash + 1);
}

class Writer {
 public:
  Writer(ir::Model& m, const Request& r, Plan plan)
      : model_(m), request_(r), plan_(std::move(plan)), first_(m.graph.initializers) {}

  void run() {
    // Before anything changes its type.
    ir::for_each_graph(model_.graph, [&](ir::Graph& g) {
      for (const ir::Value* v : g.inputs) home_[v] = &g;
    });
    graph(model_.graph);
    for (ir::Value*& v : model_.graph.outputs)
      if (is_single(v) || plan_.kinds.contains(v)) v = output(v);
    for (auto& [v, kind] : plan_.kinds)
      if (kind == Kind::Half) const_cast<ir::Value*>(v)->type.dtype = request_.half;
    place(model_.graph);
    name_weights();
  }

 private:
  // --- one value in the type that is asked for

  bool was_single(const ir::Value* v) const {
    return v && (plan_.kinds.contains(v) || (v->data && is_single(v)));
  }

  ir::Value* as(ir::Value* v, bool half) {
    if (!was_single(v)) return v;
    const Kind kind = plan_.kind(*v);
    if (kind == Kind::Constant && !half) return v;
    if (kind != Kind::Constant && (kind == Kind::Half) == half) return v;
    const auto [it, fresh] = other_.try_emplace(v, nullptr);
    if (fresh) it->second = v->data ? rounded(v) : cast(v, half ? request_.half : DType::Float);
    return it->second;
  }

  ir::Value* rounded(ir::Value* v) {
    ir::Value* h = model_.new_initializer(v->name + "_" + std::string(name(request_.half)),
                                          Tensor::rounded(v->data, request_.half));
    h->state = v->state;
    return h;
  }

  // Behind the node that makes `v`, or before all others where an input of the graph is. What is a
  // cast itself is cast from its own source.
  ir::Value* cast(ir::Value* v, DType to) {
    const ir::Node* maker = v->producer;
    ir::Value* from = maker && maker->is("Cast") ? maker->inputs[0] : v;
    ir::Value* made = model_.new_value(v->name + "_" + std::string(name(to)),
                                       ir::Type::tensor(to, v->type.shape));
    auto n =
        ir::make_node(model_, (maker ? folder_of(maker->name) : "") + "Cast", "Cast", {from},
                      {made}, {{"to", static_cast<int64_t>(to)}}, maker ? maker->origin : nullptr);
    (maker ? behind_[maker] : before_[home_.at(v)]).push_back(std::move(n));
    return made;
  }

  // An output of the model, which keeps its name.
  ir::Value* output(ir::Value* v) {
    ir::Value* o = as(v, request_.half_io);
    if (o == v) return v;
    const bool half = plan_.kind(*v) == Kind::Half;
    std::swap(o->name, v->name);
    v->name =
        model_.names.unique(o->name + "_" + std::string(name(half ? request_.half : DType::Float)));
    return o;
  }

  // --- nodes

  void graph(ir::Graph& g) {
    for (auto& n : g.nodes) node(*n);
  }

  void node(ir::Node& n) {
    for (auto& [name, a] : n.attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) graph(**g);
    if (n.is("If")) return branches(n);
    if (n.is("Loop")) return loop(n);
    const auto at = plan_.nodes.find(&n);
    if (at == plan_.nodes.end()) return;  // takes any type as it comes
    const Decision& d = at->second;
    for (size_t i = 0; i < n.inputs.size(); ++i)
      if (!n.is("Cast")) n.inputs[i] = as(n.inputs[i], std::ranges::count(d.inputs, i) > 0);
    if (!d.half) return;
    if (n.is("Cast")) n.attributes.set("to", static_cast<int64_t>(request_.half));
    if (n.is("ConstantOfShape")) {
      const auto* value = n.attributes.get<TensorPtr>("value");
      n.attributes.set("value",
                       Tensor::rounded(value ? *value : Tensor::of<float>(DType::Float, {1}, {0}),
                                       request_.half));
    }
    if (const onnx::Schema* s = onnx::find_schema("", n.op, model_.opset());
        s->attribute("softmax_precision"))
      n.attributes.set("softmax_precision", static_cast<int64_t>(DType::Float));
  }

  bool is_half(const ir::Value* v) const { return plan_.kind(*v) == Kind::Half; }

  void branches(ir::Node& n) {
    for (auto& [name, a] : n.attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a))
        for (size_t k = 0; k < n.outputs.size(); ++k)
          if (n.outputs[k]) (*g)->outputs[k] = as((*g)->outputs[k], is_half(n.outputs[k]));
  }

  void loop(ir::Node& n) {
    ir::Graph& g = **n.attributes.get<std::shared_ptr<ir::Graph>>("body");
    for (size_t k = 2; k < g.inputs.size(); ++k) {
      n.inputs[k] = as(n.inputs[k], is_half(g.inputs[k]));
      g.outputs[k - 1] = as(g.outputs[k - 1], is_half(g.inputs[k]));
    }
    for (size_t k = g.inputs.size() - 2; k < n.outputs.size(); ++k)  // collected
      if (n.outputs[k]) g.outputs[k + 1] = as(g.outputs[k + 1], is_half(n.outputs[k]));
  }

  // --- afterwards

  void place(ir::Graph& g) {
    Nodes in = std::exchange(g.nodes, std::move(before_[&g]));
    for (auto& n : in) {
      for (auto& [name, a] : n->attributes)
        if (auto* inner = std::get_if<std::shared_ptr<ir::Graph>>(&a)) place(**inner);
      const auto casts = behind_.find(n.get());
      g.nodes.push_back(std::move(n));
      if (casts != behind_.end()) std::ranges::move(casts->second, std::back_inserter(g.nodes));
    }
  }

  // A weight that nothing reads in float32 leaves its name and its place to the rounded one.
  void name_weights() {
    std::set<const ir::Value*> read;
    ir::for_each_graph(model_.graph, [&](ir::Graph& g) {
      for (const auto& n : g.nodes) read.insert(n->inputs.begin(), n->inputs.end());
      read.insert(g.outputs.begin(), g.outputs.end());
    });
    model_.graph.initializers.clear();
    for (ir::Value* v : first_) {
      const auto it = other_.find(v);
      const bool is_read = it == other_.end() || read.contains(v);
      if (is_read) model_.graph.initializers.push_back(v);
      if (it == other_.end()) continue;
      model_.graph.initializers.push_back(it->second);
      if (is_read) continue;
      // The name of an output it has already.
      if (!std::ranges::count(model_.graph.outputs, it->second))
        std::swap(it->second->name, v->name);
      v->data = nullptr;
    }
  }

  ir::Model& model_;
  const Request& request_;
  Plan plan_;
  std::vector<ir::Value*> first_;                 // the initializers before
  std::map<const ir::Value*, ir::Graph*> home_;   // of the graphs' inputs
  std::map<const ir::Value*, ir::Value*> other_;  // the same value in the other type
  std::map<const ir::Node*, Nodes> behind_;
  std::map<const ir::Graph*, Nodes> before_;
};

// --- names of `keep`

void require_known(ir::Model& m, const Request& r) {
  std::set<std::string> known;
  std::vector<std::string> folders;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) {
      known.insert(n->op);
      for (size_t end = n->name.find('/', 1); end != std::string::npos;
           end = n->name.find('/', end + 1))
        known.insert(n->name.substr(0, end));
      if (!n->origin) continue;
      const std::string& path = n->origin->module_path;
      for (size_t end = path.find('.'); end != std::string::npos; end = path.find('.', end + 1))
        known.insert(path.substr(0, end));
      if (!path.empty()) known.insert(path);
    }
  });
  for (const std::string& k : r.keep) {
    if (known.contains(k) || onnx::find_schema("", k, m.opset())) continue;
    std::vector<std::string> all(known.begin(), known.end());
    for (std::string& op : onnx::operators(m.opset())) all.push_back(std::move(op));
    throw Failure(ExitCode::Usage, "OE0233",
                  "--to: keep=" + k + ": neither an ONNX operator nor a module of the model",
                  did_you_mean(k, all));
  }
}

// --- what is told

Summary summary_of(ir::Model& m, const Request& r, const Plan& plan) {
  Summary s;
  s.half = r.half;
  std::map<std::pair<std::string, std::string>, size_t> kept;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) {
      const auto at = plan.nodes.find(n.get());
      if (at == plan.nodes.end() || n->is("Cast")) continue;
      ++s.of;
      if (at->second.half)
        ++s.nodes;
      else
        ++kept[{n->op, at->second.why}];
    }
  });
  for (const auto& [key, nodes] : kept) s.kept.push_back({key.first, key.second, nodes});
  std::ranges::stable_sort(s.kept, std::ranges::greater{}, &Kept::nodes);
  return s;
}

void tell(ir::Model& m, const Summary& s, const Plan& plan, Diagnostics& d) {
  const std::string type(name(s.half));
  std::vector<std::string> beyond;
  for (const ir::Value* v : m.graph.initializers)
    if (const auto it = plan.representable.find(v); it != plan.representable.end() && !it->second)
      beyond.push_back(v->name);
  if (!beyond.empty())
    d.report({"OE0311", Severity::Note, "",
              plural(beyond.size(), "constant") + " beyond the range of " + type +
                  (beyond.size() == 1 ? " stays" : " stay") +
                  " float32, and so do the nodes that read " +
                  (beyond.size() == 1 ? "it: " : "them: ") + join(beyond, ", "),
              "", nullptr, 0});
  std::vector<std::string> lacking;
  for (const Kept& k : s.kept)
    if (k.why.starts_with("takes " + type)) lacking.push_back(k.op + " " + k.why);
  if (!lacking.empty())
    d.report({"OE0312", Severity::Note, "", join(lacking, ", "),
              "a newer --opset computes more in " + type, nullptr, 0});
}

}  // namespace

Summary reduce(ir::Model& m, const Request& r, bool avoid_ort_gaps, Diagnostics& d) {
  require_known(m, r);
  const bool asks = avoid_ort_gaps && r.half == DType::Float16;
  Plan plan = decide(m, r, [&](std::string_view op, std::string_view variable) {
    return asks && opsets::ort_lacks(op, variable, r.half, m.opset());
  });
  Summary s = summary_of(m, r, plan);
  tell(m, s, plan, d);
  Writer(m, r, std::move(plan)).run();
  return s;
}

}  // namespace oe::precision
