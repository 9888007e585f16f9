// Last step of the ladder: casts around nodes whose element types the target opset does not list.
#include "opsets/types.h"

#include <algorithm>
#include <map>

#include "lib/ir/traits.h"
#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "opsets/expand.h"
#include "opsets/ort_forms.h"
#include "opsets/ort_gaps.h"

namespace oe::opsets {
namespace {

constexpr DType kTypes[] = {DType::Float,  DType::Double, DType::Float16, DType::BFloat16,
                            DType::Int64,  DType::Int32,  DType::Int16,   DType::Int8,
                            DType::UInt64, DType::UInt32, DType::UInt16,  DType::UInt8,
                            DType::Bool};

// Types that hold every value of `t` and give the same result, best first.
std::vector<DType> stand_ins(std::string_view op, DType t) {
  using D = DType;
  if (op == "NonZero") return {D::Bool};  // whether an element is zero is all that matters
  std::vector<DType> out;
  switch (t) {
    case D::Bool:
      return {D::Int32, D::UInt8, D::Int64, D::Float};
    case D::Int8:
    case D::UInt8:
    case D::Int16:
    case D::UInt16:
      out = {D::Int32, D::Int64};
      if (op == "BitShift") out = {D::UInt32, D::UInt64};
      break;
    case D::Int32:
      out = {D::Int64};
      break;
    case D::UInt32:
      out = {D::Int64, D::UInt64};
      break;
    case D::UInt64:
      return ir::traits_of(op).has(ir::kKeepsBits) ? std::vector<DType>{D::Int64}
                                                   : std::vector<DType>{};
    case D::Float16:
    case D::BFloat16:
      return {D::Float, D::Double};
    default:
      return {};
  }
  if (ir::traits_of(op).has(ir::kExactInDouble)) {
    if (byte_size(t) <= 2) out.push_back(D::Float);
    out.push_back(D::Double);
  }
  return out;
}

class TypePass {
 public:
  TypePass(ir::Model& m, bool ort, Diagnostics& d)
      : context_(m), opset_(m.opset()), ort_(ort), diagnostics_(d) {}

  void walk(ir::Graph& g) {
    Nodes in = std::exchange(g.nodes, {});
    g.nodes.reserve(in.size());
    for (auto& n : in) fit(std::move(n), g.nodes);
  }

 private:
  bool usable(const onnx::Schema& s, std::string_view variable, DType t) const {
    return usable(s, variable, t, opset_);
  }
  bool usable(const onnx::Schema& s, std::string_view variable, DType t, int64_t opset) const {
    return onnx::lists(s, variable, t) && !(ort_ && ort_lacks(s.name, variable, t, opset));
  }

  bool has_kernel(std::string_view op, std::string_view variable, int64_t opset) const {
    const onnx::Schema* s = onnx::find_schema("", op, opset);
    return s &&
           std::ranges::any_of(kTypes, [&](DType t) { return usable(*s, variable, t, opset); });
  }

  // The newest opset at which ONNX Runtime still runs an operator that it runs with no type at this
  // one; 0 when a type runs here, or nowhere.
  int64_t ended_at(std::string_view op, std::string_view variable) const {
    int64_t opset = opset_;
    while (opset >= kOldestOpset && !has_kernel(op, variable, opset)) --opset;
    return opset < kOldestOpset || opset == opset_ ? 0 : opset;
  }

  bool castable(DType t) const {
    const onnx::Schema* cast = onnx::find_schema("", "Cast", opset_);
    return cast && onnx::lists(*cast, "T1", t);
  }

  void fit(std::unique_ptr<ir::Node> n, Nodes& out) {
    for (auto& [name, a] : n->attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) walk(**g);
    const onnx::Schema* s = n->domain.empty() ? onnx::find_schema("", n->op, opset_) : nullptr;
    if (!s) {
      out.push_back(std::move(n));
      return;
    }
    if (ort_ && reword(ort_form(*n, opset_), n, out)) return;
    const auto bound = onnx::bindings(*s, *n);
    if (ort_ && bound.empty())  // no tensors: an Optional of a sequence
      for (const auto& [name, types] : s->constraints)
        if (const int64_t last = ended_at(n->op, name)) {
          refuse(*n, last);
          break;
        }
    for (const auto& [name, variable] : bound) {
      if (usable(*s, name, variable.dtype)) continue;
      replace(*s, name, variable, std::move(n), out);
      return;
    }
    out.push_back(std::move(n));
  }

  void refuse(const ir::Node& n, int64_t last) {
    const std::string runs = std::to_string(last);
    report(Severity::Error, "OE5004", n, "ONNX Runtime runs " + n.op + " up to opset " + runs, 0,
           "use --opset " + runs + " or older, or --target onnx for another runtime");
  }

  // Writes the node so that `variable` gets another type; what comes of it is fitted again.
  void replace(const onnx::Schema& s, std::string_view name, const onnx::Binding& variable,
               std::unique_ptr<ir::Node> n, Nodes& out) {
    const DType t = variable.dtype;
    const bool gap = onnx::lists(s, name, t);  // only ONNX Runtime lacks it
    if (gap && reword(rewording(*n), n, out)) return;
    if (castable(t) && n->op != "Cast")
      for (DType c : stand_ins(n->op, t))
        if (usable(s, name, c) && cast_around(variable, c, n, out)) return;
    if (gap) {
      Nodes body;
      if (onnx::expand_function(context_.model, *n, opset_, body) && !body.empty()) {
        for (auto& inner : body) {
          if (!inner->origin) inner->origin = n->origin;
          fit(std::move(inner), out);
        }
        return;
      }
      if (const int64_t last = ended_at(n->op, name)) {
        refuse(*n, last);
        out.push_back(std::move(n));
        return;
      }
      const std::string lacks =
          "ONNX Runtime's CPU provider has no " + n->op + " for " + std::string(oe::name(t));
      const ir::Node& node = *n;  // stays where it is while it moves into `out`
      if (t == DType::Double && usable(s, name, DType::Float) &&
          cast_around(variable, DType::Float, n, out)) {
        report(Severity::Warning, "OE5003", node, lacks + ": computed in float", 0);
        return;
      }
      report(Severity::Warning, "OE5003", node, lacks, 0);
    } else {
      // With a cast there is a stand-in.
      const int64_t needs = castable(t) ? onnx::first_listing(n->op, name, t, opset_)
                                        : onnx::first_listing("Cast", "T1", t, opset_);
      const std::string type = std::string(oe::name(t));
      report(Severity::Error, "OE5002", *n,
             needs ? "needs opset " + std::to_string(needs) + " or later for element type " + type
                   : "takes no element type " + type + " at any opset",
             static_cast<int>(needs));
    }
    out.push_back(std::move(n));
  }

  // Casts the inputs to `c` and the outputs back. False where an attribute fixes the type in a way
  // that is not known here.
  bool cast_around(const onnx::Binding& variable, DType c, std::unique_ptr<ir::Node>& n,
                   Nodes& out) {
    if (variable.inputs.empty() && !retype_attribute(*n, c)) return false;
    for (const auto& [name, a] : n->attributes)
      if (std::holds_alternative<std::shared_ptr<ir::Graph>>(a)) return false;
    ir::Node& node = *n;
    Nodes added;
    Rewriter r(context_, static_cast<int>(opset_), n, added);
    std::vector<std::pair<ir::Value*, T>> results;
    for (size_t i : variable.inputs) node.inputs[i] = cast(r.in(i), c);
    for (size_t i : variable.outputs) {
      ir::Value* original = r.detach(i);
      node.outputs[i]->type = ir::Type::tensor(c, original->type.shape);
      results.emplace_back(original, r.at(node.outputs[i]));
    }
    r.keep();
    for (const auto& [original, inner] : results)
      r.bind(original, r.op("Cast", {inner}, {{"to", static_cast<int64_t>(variable.dtype)}}));
    // Another variable of the same node may still have to be fitted; casts fit as they are.
    for (auto& inner : added) {
      if (inner.get() == &node)
        fit(std::move(inner), out);
      else
        out.push_back(std::move(inner));
    }
    return true;
  }

  bool retype_attribute(ir::Node& n, DType c) {
    if (auto* dtype = n.attributes.find("dtype")) {
      *dtype = static_cast<int64_t>(c);
      return true;
    }
    if (const auto* value = n.attributes.get<TensorPtr>("value");
        value && n.op == "ConstantOfShape") {
      Nodes none;
      std::unique_ptr<ir::Node> unused = std::make_unique<ir::Node>();
      Rewriter r(context_, static_cast<int>(opset_), unused, none);
      n.attributes.set("value", r.numbers((*value)->as_double(), {1}, c)->data);
      return true;
    }
    return false;
  }

  // Operators that can be said with others of the same type, of which ONNX Runtime has kernels.
  static Rewrite rewording(const ir::Node& n) {
    static const std::unordered_map<std::string_view, Rewrite> rules = {
        {"Acos", function_of_doubles},
        {"Acosh", function_of_doubles},
        {"Asin", function_of_doubles},
        {"Asinh", function_of_doubles},
        {"Atan", function_of_doubles},
        {"Atanh", function_of_doubles},
        {"Col2Im", col_to_im},
        {"Cosh", function_of_doubles},
        {"DepthToSpace", move_blocks},
        {"Elu", plain_activation},
        {"Erf", function_of_doubles},
        {"Gelu", gelu},  // the body has numbers of float32
        {"Gemm", gemm_of_integers},
        {"GlobalAveragePool", global_pool},
        {"HardSigmoid", plain_activation},
        {"LeakyRelu", plain_activation},
        {"OneHot", one_hot_by_compare},
        {"PRelu", plain_activation},
        {"Relu", relu_as_max},
        {"Selu", plain_activation},
        {"Sinh", function_of_doubles},
        {"Softplus", plain_activation},
        {"Softsign", plain_activation},
        {"SpaceToDepth", move_blocks},
        {"Swish", swish},
        {"Tan", function_of_doubles}};
    const auto rule = rules.find(n.op);
    if (rule == rules.end()) return nullptr;
    const DType t = n.inputs[0]->type.dtype;
    const bool of_integers = n.op == "Relu" || n.op == "Gemm";
    if (of_integers && !is_integer(t)) return nullptr;
    if (rule->second == function_of_doubles && t != DType::Double) return nullptr;
    // Half types have an exact stand-in, which keeps the graph short.
    const bool either = n.op == "OneHot" || n.op == "Swish";
    return narrow_float(t) && !either ? nullptr : rule->second;
  }

  bool reword(Rewrite rule, std::unique_ptr<ir::Node>& n, Nodes& out) {
    if (!rule) return false;
    ir::Node& node = *n;
    Nodes added;
    const std::string op = node.op;
    const std::unique_ptr<ir::Node> saved = std::make_unique<ir::Node>(node);
    try {
      // Bodies are written for the opset itself, as everything here.
      const int form = static_cast<int>(opset_) - (rule == expand_body ? 1 : 0);
      Rewriter r(context_, form, n, added);
      rule(r, node);
      drop_unread(added, 0, saved->outputs);
    } catch (const Unsupported&) {  // a rank is not known
      node = *saved;
      for (ir::Value* v : node.outputs)
        if (v) v->producer = &node;
      return false;
    }
    for (auto& inner : added) {
      // What looks as before is right all the same now: a divisor that is never 0, sums of halves.
      if (inner->op == op && ort_form(*inner, opset_) == rule)
        out.push_back(std::move(inner));
      else
        fit(std::move(inner), out);
    }
    return true;
  }

  void report(Severity severity, const char* code, const ir::Node& n, std::string message,
              int needs, std::string hint = {}) {
    Diagnostic d;
    d.code = code;
    d.severity = severity;
    d.op = n.origin && !n.origin->op.empty() ? n.origin->op : n.op;
    d.message = std::move(message);
    d.origin = n.origin;
    d.needs_opset = needs;
    d.hint = std::move(hint);
    diagnostics_.report(std::move(d));
  }

  Context context_;
  int64_t opset_;
  bool ort_;
  Diagnostics& diagnostics_;
};

}  // namespace

bool ort_lacks(std::string_view op, std::string_view variable, DType t, int64_t opset) {
  const OrtGap* end = kOrtGaps + kOrtGapCount;
  const auto before = [](const OrtGap& g, std::string_view o) { return g.op < o; };
  for (const OrtGap* g = std::lower_bound(kOrtGaps, end, op, before); g != end && g->op == op; ++g)
    if (g->variable == variable && g->dtype == t && g->first_opset <= opset &&
        opset <= g->last_opset)
      return true;
  return false;
}

void fit_types(ir::Model& m, bool avoid_ort_gaps, Diagnostics& d) {
  TypePass pass(m, avoid_ort_gaps, d);
  pass.walk(m.graph);
}

}  // namespace oe::opsets
