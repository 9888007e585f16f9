// A module traced in train mode has train mode in it as constants; here it becomes one for
// inference:
//
//   batch_norm(x, w, b, mean, var, True, ..)   =>   batch_norm(x, w, b, mean, var, False, ..)
//   dropout(x, 0.5, True)                      =>   dropout(x, 0.5, False)
//   add_(num_batches_tracked, 1)               =>
#include "lib/torch/inference.h"

#include <torch/csrc/jit/ir/constants.h>
#include <torch/csrc/jit/ir/ir.h>

#include <set>

namespace oe::torch_io {
namespace {

using torch::jit::Block;
using torch::jit::Graph;
using torch::jit::Node;

bool is_none(const torch::jit::Value* v) { return v->type()->kind() == c10::TypeKind::NoneType; }

std::optional<size_t> argument(const Node* n, const char* name) {
  const auto* schema = n->maybeSchema();
  if (!schema) return std::nullopt;
  const auto i = schema->argumentIndexWithName(name);
  if (!i || static_cast<size_t>(*i) >= n->inputs().size()) return std::nullopt;
  return static_cast<size_t>(*i);
}

void set_constant(Node* n, size_t input, const c10::IValue& v) {
  torch::jit::WithInsertPoint at(n);
  n->replaceInput(input, n->owningGraph()->insertConstant(v));
}

bool is_true(const Node* n, size_t input) {
  const auto v = torch::jit::toIValue(n->input(input));
  return v && v->isBool() && v->toBool();
}

// batch_norm with running statistics; without them the batch's own serve in inference too.
bool has_running_statistics(const Node* n) {
  const auto mean = argument(n, "running_mean");
  return mean && !is_none(n->input(*mean));
}

bool rewrite(Node* n) {
  for (const char* flag : {"train", "training", "use_input_stats"}) {
    const auto i = argument(n, flag);
    if (!i || !is_true(n, *i)) continue;
    if (argument(n, "running_mean") && !has_running_statistics(n)) continue;
    set_constant(n, *i, false);
    return true;
  }
  if (const auto i = argument(n, "dropout_p")) {  // attention
    const auto p = torch::jit::toIValue(n->input(*i));
    if (p && p->isDouble() && p->toDouble() != 0) {
      set_constant(n, *i, 0.0);
      return true;
    }
  }
  return false;
}

// num_batches_tracked.add_(1), which only train mode does.
bool counts_batches(const Node* n) {
  if (n->kind() != c10::Symbol::fromQualString("aten::add_") || n->hasUses()) return false;
  const Node* target = n->input(0)->node();
  return target->kind() == c10::prim::GetAttr &&
         target->s(c10::attr::name) == "num_batches_tracked";
}

// A scripted method asks for the mode itself: what is constant in it is meant.
bool block_asks_for_mode(const Block* b) {
  for (const Node* n : b->nodes()) {
    if (n->kind() == c10::prim::GetAttr && n->s(c10::attr::name) == "training") return true;
    for (const Block* inner : n->blocks())
      if (block_asks_for_mode(inner)) return true;
  }
  return false;
}

void rewrite_block(Block* b, std::map<std::string, int>& counts) {
  for (auto it = b->nodes().begin(); it != b->nodes().end();) {
    Node* n = *it++;
    if (rewrite(n)) {
      ++counts[n->kind().toUnqualString()];
    } else if (counts_batches(n)) {
      n->destroy();
      continue;
    }
    for (Block* inner : n->blocks()) rewrite_block(inner, counts);
  }
}

}  // namespace

bool in_train_mode(const torch::jit::Module& m) {
  return m.hasattr("training") && m.attr("training").isBool() && m.attr("training").toBool();
}

bool asks_for_mode(const torch::jit::Module& m) {
  for (const torch::jit::Module& module : m.modules())
    for (const torch::jit::Method& method : module.get_methods())
      if (block_asks_for_mode(method.graph()->block())) return true;
  return false;
}

std::map<std::string, int> rewrite_for_inference(const torch::jit::Module& traced) {
  std::map<std::string, int> counts;
  std::set<const Graph*> seen;  // instances of one class share it
  for (const torch::jit::Module& m : traced.modules()) {
    if (!in_train_mode(m)) continue;
    for (const torch::jit::Method& method : m.get_methods()) {
      const auto graph = method.graph();
      if (seen.insert(graph.get()).second && !block_asks_for_mode(graph->block()))
        rewrite_block(graph->block(), counts);
    }
  }
  return counts;
}

}  // namespace oe::torch_io
