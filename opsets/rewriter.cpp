// Placing what a rewrite makes.
#include "opsets/rewriter.h"

#include <algorithm>

namespace oe::opsets {
namespace {

std::string folder_of(const std::string& name) {
  const size_t slash = name.rfind('/');
  return slash == std::string::npos ? "" : name.substr(0, slash + 1);
}

}  // namespace

void Context::note(const ir::Node& n) {
  if (n.domain.empty()) present.insert(n.op);
  for (const auto& [name, a] : n.attributes)
    if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a))
      for (const auto& inner : (*g)->nodes) note(*inner);
}

ir::Type ranked(DType t, int64_t rank) {
  return ir::Type::tensor(t, std::vector<Dim>(static_cast<size_t>(rank)));
}
ir::Type like(const ir::Value* v, DType t) { return ir::Type::tensor(t, v->type.shape); }
int64_t wrapped(int64_t axis, int64_t rank) { return axis < 0 ? axis + rank : axis; }

Rewriter::Rewriter(Context& c, int below, std::unique_ptr<ir::Node>& node, Nodes& out)
    : Builder(c.model, below, c.constants, out),
      context_(c),
      owned_(node),
      node_(*node),
      start_(out.size()) {
  prefix_ = folder_of(node->name);
  origin_ = node->origin;
}

void Rewriter::bind(ir::Value* result, T made) {
  ir::Value* v = made.get();
  if (!result || result == v) return;
  if (result->type.kind == ir::Type::Kind::Unknown) result->type = v->type;
  ir::Node* producer = nullptr;
  for (size_t i = start_; i < out().size(); ++i)
    if (out()[i].get() == v->producer && v->producer != &node_) producer = v->producer;
  if (!producer ||
      std::find(node_.outputs.begin(), node_.outputs.end(), v) != node_.outputs.end()) {
    out().push_back(
        ir::make_node(model(), node_.name, "Identity", {v}, {result}, {}, node_.origin));
    return;
  }
  std::replace(producer->outputs.begin(), producer->outputs.end(), v, result);
  result->producer = producer;
  // The discarded value may already feed other new nodes, also inside a new loop body.
  const auto replace = [&](ir::Node& n, const auto& self) -> void {
    std::replace(n.inputs.begin(), n.inputs.end(), v, result);
    for (auto& [name, a] : n.attributes)
      if (auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
        for (auto& inner : (*g)->nodes) self(*inner, self);
        std::replace((*g)->outputs.begin(), (*g)->outputs.end(), v, result);
      }
  };
  for (size_t i = start_; i < out().size(); ++i) replace(*out()[i], replace);
}

T Rewriter::detach(size_t i) {
  ir::Value* outer = node_.outputs.at(i);
  ir::Value* inner = model().new_value(prefix_ + node_.op + "_output");
  inner->type = outer->type;
  inner->type.shape.reset();
  inner->producer = &node_;
  node_.outputs[i] = inner;
  return at(outer);
}

void Rewriter::add(std::unique_ptr<ir::Node> n) {
  context_.note(*n);
  if (!n->origin) n->origin = node_.origin;
  out().push_back(std::move(n));
}

void Rewriter::keep() {
  context_.present.emplace(node_.op);
  out().push_back(std::move(owned_));
}

void drop_unread(Nodes& out, size_t start, const std::vector<ir::Value*>& results) {
  std::unordered_set<const ir::Value*> read(results.begin(), results.end());
  const auto reads = [&](const ir::Node& n, const auto& self) -> void {
    read.insert(n.inputs.begin(), n.inputs.end());
    for (const auto& [name, a] : n.attributes)
      if (const auto* g = std::get_if<std::shared_ptr<ir::Graph>>(&a)) {
        for (const auto& inner : (*g)->nodes) self(*inner, self);
        read.insert((*g)->outputs.begin(), (*g)->outputs.end());
      }
  };
  for (size_t i = out.size(); i-- > start;) {
    ir::Node& n = *out[i];
    const bool needed = std::any_of(n.outputs.begin(), n.outputs.end(),
                                    [&](const ir::Value* v) { return v && read.contains(v); });
    if (needed) {
      reads(n, reads);
      continue;
    }
    for (ir::Value* v : n.outputs)
      if (v) v->producer = nullptr;
    out[i].reset();
  }
  out.erase(std::remove(out.begin() + static_cast<ptrdiff_t>(start), out.end(), nullptr),
            out.end());
}

}  // namespace oe::opsets
