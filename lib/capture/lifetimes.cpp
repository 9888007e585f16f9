// How long the values of a function live.
#include "lib/capture/executor.h"

namespace oe::capture {

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
