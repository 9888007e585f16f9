#include "lib/capture/ports/joined_axis_names.h"

#include <initializer_list>

namespace oe::capture {
namespace {

using program::Arg;
using program::Block;
using program::Node;
using program::Value;

// Takes each name from `to` that `from` does not have; whether there was one.
bool take_names(Value* to, const Arg& from) {
  const Value* v = from.value();
  if (!v || !to->type.shape || !v->type.shape || to->type.shape->size() != v->type.shape->size())
    return false;
  bool changed = false;
  for (size_t i = 0; i < to->type.shape->size(); ++i) {
    Dim& d = to->type.shape->at(i);
    if (!d.is_symbol() || d == v->type.shape->at(i)) continue;
    d = Dim::unknown();
    changed = true;
  }
  return changed;
}

constexpr size_t kLoopArguments = 2;  // the trip count and the condition come before the state

bool join_loop(const Node& n) {
  const Block& body = *n.blocks[0];
  bool changed = false;
  for (size_t i = 0; i + kLoopArguments < n.args.size(); ++i) {
    Value *inside = body.params[i + 1], *out = n.outputs[i];
    for (const Arg& from : {n.args[i + kLoopArguments], body.returns[i + 1]}) {
      changed |= take_names(inside, from);
      changed |= take_names(out, from);
    }
  }
  return changed;
}

bool join_axis_names(const Block& b) {
  bool changed = false;
  for (const auto& n : b.nodes) {
    for (const auto& inner : n->blocks) changed |= join_axis_names(*inner);
    if (n->op == "prim::Loop") changed |= join_loop(*n);
    if (n->op != "prim::If") continue;
    for (const auto& branch : n->blocks)
      for (size_t i = 0; i < n->outputs.size(); ++i)
        changed |= take_names(n->outputs[i], branch->returns[i]);
  }
  return changed;
}

}  // namespace

void join_axis_names(program::Program& p) {
  while (join_axis_names(p.body)) {
  }
}

}  // namespace oe::capture
