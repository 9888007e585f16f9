// How long the values of a function live, and which of them anything reads.
#include "lib/capture/executor.h"

namespace oe::capture {

namespace prim = c10::prim;

// What nodes look at. An If and a Loop only hand on what their blocks give.
void Interpreter::note_readers(JitBlock* b, std::vector<const JitValue*>& read) {
  for (JitNode* n : b->nodes()) {
    const bool branches = n->kind() == prim::If, loops = n->kind() == prim::Loop;
    const size_t looked_at = branches ? 1 : loops ? 2 : n->inputs().size();
    for (size_t i = 0; i < looked_at; ++i) read.push_back(n->input(i));
    for (JitBlock* inner : n->blocks()) {
      note_readers(inner, read);
      if (branches) continue;
      const size_t results = loops ? 1 : inner->outputs().size();
      for (size_t i = 0; i < results; ++i) read.push_back(inner->outputs()[i]);
    }
  }
}

// From the readers on backwards, through what is handed on; linear.
void Interpreter::analyse_reads(JitBlock* function) {
  if (analysed_.contains(function)) return;
  std::vector<const JitValue*> todo(function->outputs().begin(), function->outputs().end());
  note_readers(function, todo);
  while (!todo.empty()) {
    const JitValue* v = todo.back();
    todo.pop_back();
    if (!read_.insert(v).second) continue;
    const JitNode* n = v->node();
    if (n->kind() == prim::If) {
      for (const JitBlock* b : n->blocks()) todo.push_back(b->outputs()[v->offset()]);
    } else if (n->kind() == prim::Loop) {
      todo.push_back(n->input(v->offset() + 2));
      todo.push_back(n->blocks()[0]->outputs()[v->offset() + 1]);
    } else if (const JitNode* loop = n->owningBlock()->owningNode();
               n->kind() == prim::Param && loop && loop->kind() == prim::Loop && v->offset() > 0) {
      todo.push_back(loop->input(v->offset() + 1));
      todo.push_back(loop->blocks()[0]->outputs()[v->offset()]);
    }
  }
}

bool Interpreter::is_carried(const JitNode* loop, size_t i) const {
  return read_.contains(loop->outputs()[i]) || read_.contains(loop->blocks()[0]->inputs()[i + 1]);
}

// Whether anything reads that result of the block.
bool Interpreter::is_left(const JitBlock* b, size_t i) const {
  const JitNode* n = b->owningNode();
  if (n && n->kind() == prim::If) return read_.contains(n->outputs()[i]);
  if (n && n->kind() == prim::Loop) return i == 0 || is_carried(n, i - 1);
  return true;
}

const std::vector<const JitValue*>& Interpreter::dead_after(const JitNode* n) const {
  static const std::vector<const JitValue*> none;
  auto it = dead_after_.find(n);
  return it == dead_after_.end() ? none : it->second;
}

// A value dies after the last node of its own block that uses it, nested blocks included.
void Interpreter::analyse_lifetimes(JitBlock* b) {
  if (!analysed_.insert(b).second) return;
  for (JitNode* n : b->nodes())
    for (JitBlock* inner : n->blocks()) analyse_lifetimes(inner);
  auto at_this_level = [&](JitNode* user) {
    while (user->owningBlock() != b) user = user->owningBlock()->owningNode();
    return user;
  };
  auto last_use = [&](const JitValue* v, JitNode* fallback) {
    JitNode* last = fallback;
    for (const auto& use : v->uses()) {
      if (use.user == b->return_node()) return static_cast<JitNode*>(nullptr);
      JitNode* user = at_this_level(use.user);
      if (!last || last->isBefore(user)) last = user;
    }
    return last;
  };
  for (JitNode* n : b->nodes())
    for (const JitValue* v : n->outputs())
      if (JitNode* last = last_use(v, n)) dead_after_[last].push_back(v);
  for (const JitValue* v : b->inputs())
    if (!v->uses().empty())
      if (JitNode* last = last_use(v, nullptr)) dead_after_[last].push_back(v);
}

}  // namespace oe::capture
