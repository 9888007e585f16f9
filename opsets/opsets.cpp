// The ladder: applies the rungs from the model's opset down to the target, then the type pass.
#include "opsets/opsets.h"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "lib/onnx/onnx.h"
#include "lib/onnx/schema.h"
#include "opsets/expand.h"
#include "opsets/rung.h"
#include "opsets/types.h"

namespace oe::opsets {
namespace {

constexpr int kNewest = kNewestOpset;

using Table = std::unordered_map<std::string_view, const Row*>;

// Rows by operator, for every rung; built once.
const Table& table(int n) {
  static const auto tables = [] {
    std::array<Table, kNewest + 1> t;
    for (int i = 8; i <= kNewest; ++i)
      for (const Row& row : rung(i)) t[static_cast<size_t>(i)].emplace(row.op, &row);
    return t;
  }();
  return tables[static_cast<size_t>(n)];
}

bool all_ones(const ir::Attribute& a) {
  const auto* v = std::get_if<Ints>(&a);
  return v && std::all_of(v->begin(), v->end(), [](int64_t i) { return i == 1; });
}

// Removes what the schema below does not have, where it says nothing beyond the default.
void drop_defaults(ir::Node& n, int opset) {
  const onnx::Schema* above = onnx::find_schema("", n.op, opset);
  const onnx::Schema* below = onnx::find_schema("", n.op, opset - 1);
  if (!above || !below) throw Unsupported("");
  std::vector<std::string> dropped;
  for (const auto& [name, value] : n.attributes) {
    if (below->attribute(name)) continue;
    const onnx::SchemaAttribute* a = above->attribute(name);
    const bool is_default = a && (a->has_default ? a->default_value == value : all_ones(value));
    if (!is_default)
      throw Unsupported("needs opset " + std::to_string(opset) + " or later for attribute '" +
                        name + "'");
    dropped.push_back(name);
  }
  for (const std::string& name : dropped) n.attributes.erase(name);
  // A default that changed has to be spelled out.
  for (const onnx::SchemaAttribute& a : above->attributes) {
    const onnx::SchemaAttribute* old = below->attribute(a.name);
    if (old && a.has_default && old->has_default && !(a.default_value == old->default_value) &&
        !n.attributes.find(a.name))
      n.attributes.set(a.name, a.default_value);
  }
  while (static_cast<int>(n.inputs.size()) > below->max_inputs && !n.inputs.back())
    n.inputs.pop_back();
  while (static_cast<int>(n.outputs.size()) > below->max_outputs && !n.outputs.back())
    n.outputs.pop_back();
  if (static_cast<int>(n.inputs.size()) > below->max_inputs ||
      static_cast<int>(n.outputs.size()) > below->max_outputs)
    throw Unsupported("");
}

class Ladder {
 public:
  explicit Ladder(ir::Model& m) : context_(m) {
    for (const auto& n : m.graph.nodes) context_.note(*n);
  }

  void descend(int opset) {
    const Table& rows = table(opset);
    bool touches = false;
    for (const std::string& op : context_.present) {
      const auto it = rows.find(op);
      touches = touches || (it != rows.end() && it->second->kind != Row::Kind::Same);
    }
    if (touches) walk(context_.model.graph, rows, opset);
    context_.model.opsets[""] = opset - 1;
    if (std::exchange(context_.untyped, false)) onnx::infer(context_.model);
  }

  // One report for each use, with the opset that removes all of its problems.
  void report(Diagnostics& d) const {
    for (const auto& [origin, problem] : by_origin_) d.report(problem);
    for (const Diagnostic& problem : without_origin_) d.report(problem);
  }

 private:
  void walk(ir::Graph& g, const Table& rows, int opset) {
    Nodes in = std::exchange(g.nodes, {});
    g.nodes.reserve(in.size());
    for (auto& n : in) step(std::move(n), g.nodes, rows, opset);
  }

  void step(std::unique_ptr<ir::Node> n, Nodes& out, const Table& rows, int opset) {
    for (auto& [name, a] : n->attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) walk(**g, rows, opset);
    const auto it = n->domain.empty() ? rows.find(n->op) : rows.end();
    if (it == rows.end() || it->second->kind == Row::Kind::Same || failed_.contains(n.get())) {
      out.push_back(std::move(n));
      return;
    }
    const size_t start = out.size();
    std::unique_ptr<ir::Node> saved = std::make_unique<ir::Node>(*n);
    ir::Node* node = n.get();
    try {
      apply(*it->second, n, out, rows, opset);
    } catch (const Unsupported& e) {
      // The node stays as it was; the run ends with an error, so nothing is written.
      if (!n) {
        for (size_t i = start; i < out.size(); ++i)
          if (out[i].get() == node) n = std::move(out[i]);
      }
      out.resize(start);
      *n = std::move(*saved);
      for (ir::Value* v : n->outputs)
        if (v) v->producer = node;
      fail(*n, e, opset);
      out.push_back(std::move(n));
    }
  }

  void apply(const Row& row, std::unique_ptr<ir::Node>& n, Nodes& out, const Table& rows,
             int opset) {
    switch (row.kind) {
      case Row::Kind::Same:
        break;
      case Row::Kind::Needs:
        throw Unsupported("");
      case Row::Kind::Defaults:
        drop_defaults(*n, opset);
        out.push_back(std::move(n));
        break;
      case Row::Kind::Body:
      case Row::Kind::Rewrite: {
        const size_t start = out.size();
        const std::vector<ir::Value*> results = n->outputs;
        Rewriter r(context_, opset - 1, n, out);
        row.kind == Row::Kind::Body ? expand_body(r, *n) : row.rewrite(r, *n);
        drop_unread(out, start, results);
        for (size_t i = start; i < out.size(); ++i) context_.note(*out[i]);
        if (!r.wants_again()) break;
        Nodes added(std::make_move_iterator(out.begin() + static_cast<ptrdiff_t>(start)),
                    std::make_move_iterator(out.end()));
        out.resize(start);
        for (auto& inner : added) step(std::move(inner), out, rows, opset);
        break;
      }
    }
  }

  void fail(ir::Node& n, const Unsupported& e, int opset) {
    failed_.insert(&n);
    Diagnostic d;
    d.code = "OE5001";
    d.op = n.origin && !n.origin->op.empty() ? n.origin->op : n.op;
    d.needs_opset = e.opset > 0 ? e.opset : opset;
    d.message =
        *e.what() == 0 ? "needs opset " + std::to_string(d.needs_opset) + " or later" : e.what();
    d.origin = n.origin;
    if (!n.origin) {
      without_origin_.push_back(std::move(d));
      return;
    }
    const auto [it, fresh] = index_.try_emplace(n.origin.get(), by_origin_.size());
    if (fresh)
      by_origin_.emplace_back(n.origin.get(), std::move(d));
    else if (by_origin_[it->second].second.needs_opset < d.needs_opset)
      by_origin_[it->second].second = std::move(d);
  }

  Context context_;
  std::unordered_set<const ir::Node*> failed_;
  std::unordered_map<const Origin*, size_t> index_;
  std::vector<std::pair<const Origin*, Diagnostic>> by_origin_;
  std::vector<Diagnostic> without_origin_;
};

// Which of the model's values a node or a graph output reads.
std::vector<bool> read_values(ir::Model& m) {
  std::unordered_set<const ir::Value*> read;
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    for (const auto& n : g.nodes) read.insert(n->inputs.begin(), n->inputs.end());
    read.insert(g.outputs.begin(), g.outputs.end());
  });
  std::vector<bool> at;
  for (const ir::Value& v : m.values) at.push_back(read.contains(&v));
  return at;
}

// Constants that moved into attributes are no longer read; what nobody read before stays.
void remove_unread(ir::Model& m, const std::vector<bool>& read_before) {
  const std::vector<bool> read = read_values(m);
  std::unordered_set<const ir::Value*> dead;
  for (size_t i = 0; i < read.size(); ++i)
    if (!read[i] && (i >= read_before.size() || read_before[i])) dead.insert(&m.values[i]);
  ir::for_each_graph(m.graph, [&](ir::Graph& g) {
    std::erase_if(g.initializers, [&](const ir::Value* v) { return dead.contains(v); });
    std::erase_if(g.nodes, [&](const auto& n) {
      return n->is("Constant") && n->outputs[0] && dead.contains(n->outputs[0]);
    });
  });
}

bool untyped(const ir::Value& v) {
  return v.type.kind == ir::Type::Kind::Unknown ||
         (v.type.kind == ir::Type::Kind::Tensor && v.type.dtype == DType::Undefined);
}

// One walk down the ladder, which may stop at several opsets.
class Walk {
 public:
  explicit Walk(ir::Model& m) : model_(m), read_before_(read_values(m)), ladder_(m) {}

  void descend(int64_t target) {
    const int64_t from = model_.opset();
    if (from > kNewest || target < kOldestOpset || target > from)
      throw std::invalid_argument("legalize: cannot go from opset " + std::to_string(from) +
                                  " to " + std::to_string(target));
    // Rewrites ask for ranks, and the type pass for element types.
    if (!inferred_ &&
        (from > target || std::any_of(model_.values.begin(), model_.values.end(), untyped))) {
      onnx::infer(model_);
      inferred_ = true;
    }
    for (int64_t opset = from; opset > target; --opset) ladder_.descend(static_cast<int>(opset));
  }

  // `m` is the model, or a copy of it as it is now.
  void finish(ir::Model& m, bool avoid_ort_gaps, Diagnostics& d) const {
    ladder_.report(d);
    if (!d.has_errors()) fit_types(m, avoid_ort_gaps, d);
    remove_unread(m, read_before_);
  }

 private:
  ir::Model& model_;
  std::vector<bool> read_before_;
  Ladder ladder_;
  bool inferred_ = false;
};

}  // namespace

Rung rung(int n) {
  static constexpr std::array rungs = {opset_08, opset_09, opset_10, opset_11, opset_12, opset_13,
                                       opset_14, opset_15, opset_16, opset_17, opset_18, opset_19,
                                       opset_20, opset_21, opset_22, opset_23, opset_24, opset_25,
                                       opset_26, opset_27, opset_28};
  return rungs.at(static_cast<size_t>(n - 8))();
}

void legalize(ir::Model& m, int64_t target, bool avoid_ort_gaps, Diagnostics& d) {
  Walk walk(m);
  walk.descend(target);
  walk.finish(m, avoid_ort_gaps, d);
}

struct Descent::State {
  State(ir::Model m, bool avoid) : model(std::move(m)), walk(model), avoid_ort_gaps(avoid) {}
  ir::Model model;
  Walk walk;
  bool avoid_ort_gaps;
};

Descent::Descent(ir::Model m, bool avoid_ort_gaps)
    : state_(std::make_unique<State>(std::move(m), avoid_ort_gaps)) {}
Descent::~Descent() = default;

ir::Model Descent::at(int64_t target, Diagnostics& d) {
  state_->walk.descend(target);
  ir::Model m = ir::copy(state_->model);
  state_->walk.finish(m, state_->avoid_ort_gaps, d);
  return m;
}

}  // namespace oe::opsets
