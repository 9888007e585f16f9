// Decides node by node, in the order they run.
#include "lib/precision/plan.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "lib/onnx/schema.h"
#include "lib/precision/rules.h"

namespace oe::precision {
namespace {

Kind both(Kind a, Kind b) {
  const auto [low, high] = std::minmax(a, b);
  // A number of integers that meets data is one no more.
  return low == Kind::Half && high == Kind::Position ? Kind::Wide : high;
}

bool stays(Kind k) { return k == Kind::Position || k == Kind::Wide; }

// What a node that computes in float32 makes of `in`.
Kind made_of(Half half, Kind in) {
  switch (half) {
    case Half::Float32:
    case Half::Bounded:
    case Half::Product:
    case Half::Carrier:
      return Kind::Settled;
    case Half::Quotient:
      return in == Kind::Position ? in : Kind::Settled;
    case Half::Wide:
      return in == Kind::Position ? in : Kind::Wide;
    case Half::Position:
      return Kind::Position;
    default:
      return stays(in) ? in : Kind::Settled;
  }
}

const ir::Graph* body_of(const ir::Node& n, const char* name) {
  const auto* g = n.attributes.get<std::shared_ptr<ir::Graph>>(name);
  return g ? g->get() : nullptr;
}

class Decider {
 public:
  Decider(const ir::Model& m, const Request& r, const Lacks& lacks)
      : model_(m), request_(r), lacks_(lacks) {}

  Plan run() {
    for (const ir::Value* v : model_.graph.inputs)
      if (is_single(v)) set(v, request_.half_io ? Kind::Half : Kind::Settled);
    graph(model_.graph);
    return std::move(plan_);
  }

 private:
  void set(const ir::Value* v, Kind k) { plan_.kinds[v] = k; }

  void graph(const ir::Graph& g) {
    for (const auto& n : g.nodes) node(*n);
  }

  void node(const ir::Node& n) {
    if (n.is("If")) return branches(n);
    if (n.is("Loop")) return loop(n);
    if (n.is("Cast")) return cast(n);
    bool nested = false;
    for (const auto& [name, a] : n.attributes)
      if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
        nested = true;
        ++closed_;
        for (const ir::Value* v : (*g)->inputs)
          if (is_single(v)) set(v, Kind::Settled);
        graph(**g);
        --closed_;
      }
    const bool reads = std::ranges::any_of(n.inputs, is_single);
    if (!reads && std::ranges::none_of(n.outputs, is_single)) return;
    if (rule_of(n).half == Half::Carrier) return;
    if (nested) return single(n, "it has a graph of its own", Kind::Settled);
    reads ? computes(n) : makes(n);
  }

  // --- what a node reads

  bool asked(const ir::Node& n) const {
    return std::ranges::any_of(request_.keep, [&](const std::string& k) {
      const auto within = [&](const std::string& path, char separator) {
        return path == k ||
               (path.size() > k.size() && path.starts_with(k) && path[k.size()] == separator);
      };
      return n.is(k) || within(n.name, '/') || (n.origin && within(n.origin->module_path, '.'));
    });
  }

  bool holds(const Tensor& t) const {
    const Tensor* stored = &t;  // in any order
    while (stored->base()) stored = stored->base().get();
    double most = 0;
    for (const float v : stored->values<float>())
      if (std::isfinite(v)) most = std::max(most, std::fabs(static_cast<double>(v)));
    // Rounded up from here on: to infinity. Below the smallest normal number digits are lost; next
    // to larger ones that is no more than what these lose.
    const bool fp16 = request_.half == DType::Float16;
    const double end = fp16 ? 65520 : std::ldexp(511.0, 119);
    const double smallest = std::ldexp(1.0, fp16 ? -14 : -126);
    return most < end && (most == 0 || most >= smallest);
  }
  bool holds(const ir::Value* constant) {
    const auto known = plan_.representable.find(constant);
    if (known != plan_.representable.end()) return known->second;
    return plan_.representable[constant] = holds(*constant->data);
  }

  // Why no variable of the node can be bound to 16 bits; empty: it can.
  std::string refused(const onnx::Schema& s, std::string_view variable) const {
    const std::string type(name(request_.half));
    if (onnx::lists(s, variable, request_.half))
      return lacks_(s.name, variable) ? "ONNX Runtime has no kernel for " + type : std::string();
    const int64_t first = onnx::first_listing(s.name, variable, request_.half, model_.opset());
    return first ? "takes " + type + " from opset " + std::to_string(first) + " on"
                 : "takes no " + type;
  }

  // --- what becomes of it

  void half(const ir::Node& n, const onnx::Binding& b) {
    for (const ir::Value* v : n.outputs)
      if (is_single(v)) set(v, Kind::Settled);
    for (const size_t i : b.outputs) set(n.outputs[i], Kind::Half);
    Decision& d = plan_.nodes[&n] = {true, {}, {}, b.outputs};
    for (const size_t i : b.inputs)
      if (is_single(n.inputs[i])) d.inputs.push_back(i);
  }
  void single(const ir::Node& n, std::string why, Kind result) {
    for (const ir::Value* v : n.outputs)
      if (is_single(v)) set(v, result);
    plan_.nodes[&n] = {false, std::move(why), {}, {}};
  }

  // A node without an operand of float32.
  void makes(const ir::Node& n) {
    const Rule rule = rule_of(n);
    const onnx::Schema* s = onnx::find_schema(n.domain, n.op, model_.opset());
    const auto* value = n.attributes.get<TensorPtr>("value");
    if (n.is("ConstantOfShape") && s && !closed_ && !asked(n) && (!value || holds(**value)) &&
        refused(*s, s->outputs[0].type).empty())
      return half(n, {DType::Float, {}, {0}});
    single(n, rule.why.empty() ? "makes float32" : std::string(rule.why),
           made_of(rule.half, Kind::Constant));
  }

  void computes(const ir::Node& n) {
    const onnx::Schema* s =
        n.domain.empty() ? onnx::find_schema("", n.op, model_.opset()) : nullptr;
    if (!s) return single(n, "another domain", Kind::Settled);
    const Rule rule = rule_of(n);
    std::string_view variable;
    onnx::Binding data;
    const size_t first =
        static_cast<size_t>(std::ranges::find_if(n.inputs, is_single) - n.inputs.begin());
    for (const auto& [name, b] : onnx::bindings(*s, n))
      if (std::ranges::count(b.inputs, first)) variable = name, data = b;
    Kind in = Kind::Constant;
    bool fits = true;
    for (const size_t i : data.inputs) {
      const ir::Value* v = n.inputs[i];
      in = both(in, plan_.kind(*v));
      fits = fits && (!v->data || holds(v));
    }
    const std::string why = reason(n, rule, *s, variable, in, fits);
    if (why.empty()) return half(n, data);
    Kind result = made_of(rule.half, in);
    const bool folds = in == Kind::Constant && rule.half != Half::Float32;
    if (!fits && result == Kind::Settled && rule.half != Half::Float32) result = Kind::Wide;
    single(n, why, folds && fits ? Kind::Position : result);
  }

  // Why the node stays float32.
  std::string reason(const ir::Node& n, const Rule& rule, const onnx::Schema& s,
                     std::string_view variable, Kind in, bool fits) const {
    if (!rule.why.empty()) return std::string(rule.why);
    if (closed_) return "inside of a node";
    if (asked(n)) return "asked for";
    if (variable.empty()) return "accepts float32 only";
    if (std::string why = refused(s, variable); !why.empty()) return why;
    if (!fits) return "constant beyond the range";
    if (rule.half == Half::Product) return {};
    if (in == Kind::Wide) return "reads a large range";
    if (in == Kind::Position) return "reads positions";
    // One cast of a model's own input is enough, however many parts of it are read.
    const bool computed = std::ranges::any_of(
        n.inputs, [](const ir::Value* v) { return is_single(v) && v->producer; });
    if (rule.half == Half::Mover)
      return in == Kind::Settled && computed ? "moves float32" : std::string();
    return in == Kind::Constant ? "reads constants only" : std::string();
  }

  void cast(const ir::Node& n) {
    if (!is_single(n.outputs[0])) return;
    const DType from = n.inputs[0]->type.dtype;
    // All of their values are exact in 16 bits.
    const bool small = from == DType::Bool || from == DType::Int8 || from == DType::UInt8;
    if (small && !closed_) {
      set(n.outputs[0], Kind::Half);
      plan_.nodes[&n] = {true, {}, {}, {0}};
    } else {
      const bool wider = from == DType::BFloat16 && request_.half == DType::Float16;
      set(n.outputs[0], is_integer(from) ? Kind::Position : wider ? Kind::Wide : Kind::Settled);
    }
  }

  // What comes out of a graph of the node: of 16 bits only where the node has them at this opset.
  Kind passed(const ir::Node& n, Kind k) const {
    const onnx::Schema* s = onnx::find_schema("", n.op, model_.opset());
    const bool can = !closed_ && s && onnx::lists(*s, "V", request_.half);
    return k == Kind::Half && !can ? Kind::Settled : k;
  }

  void branches(const ir::Node& n) {
    const ir::Graph *yes = body_of(n, "then_branch"), *no = body_of(n, "else_branch");
    graph(*yes);
    graph(*no);
    for (size_t k = 0; k < n.outputs.size(); ++k)
      if (is_single(n.outputs[k]))
        set(n.outputs[k],
            passed(n, both(plan_.kind(*yes->outputs[k]), plan_.kind(*no->outputs[k]))));
  }

  // Inputs: trip count, condition, state; of the body: iteration, condition, state. Outputs of the
  // body: condition, state, what is collected. State is added to again and again, like a sum.
  void loop(const ir::Node& n) {
    const ir::Graph& g = *body_of(n, "body");
    for (size_t k = 2; k < g.inputs.size(); ++k)
      if (is_single(g.inputs[k])) set(g.inputs[k], Kind::Wide);
    graph(g);
    for (size_t k = 0; k < n.outputs.size(); ++k) {
      const bool state = k + 2 < g.inputs.size();
      if (is_single(n.outputs[k]))
        set(n.outputs[k], state ? Kind::Wide : passed(n, plan_.kind(*g.outputs[k + 1])));
    }
  }

  const ir::Model& model_;
  const Request& request_;
  const Lacks& lacks_;
  int closed_ = 0;  // in how many nodes whose graphs stay as they are
  Plan plan_;
};

}  // namespace

bool is_single(const ir::Value* v) {
  return v && v->type.kind == ir::Type::Kind::Tensor && v->type.dtype == DType::Float;
}

Kind Plan::kind(const ir::Value& v) const {
  if (v.data) return Kind::Constant;
  const auto it = kinds.find(&v);
  return it == kinds.end() ? Kind::Settled : it->second;
}

Plan decide(const ir::Model& m, const Request& r, const Lacks& lacks) {
  return Decider(m, r, lacks).run();
}

}  // namespace oe::precision
