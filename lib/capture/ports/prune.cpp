// Marks backwards from the outputs; linear.
#include "lib/capture/ports/prune.h"

#include <algorithm>
#include <unordered_set>

namespace oe::capture {
namespace {

using Live = std::unordered_set<const program::Value*>;

void mark(const program::Arg& a, Live& live) {
  if (const auto* v = a.value()) live.insert(v);
  if (const auto* list = std::get_if<program::Args>(&a.v))
    for (const program::Arg& e : *list) mark(e, live);
}

void prune(program::Block& b, Live& live) {
  std::vector<std::unique_ptr<program::Node>> kept;
  for (auto it = b.nodes.rbegin(); it != b.nodes.rend(); ++it) {
    program::Node& n = **it;
    const bool used = std::any_of(n.outputs.begin(), n.outputs.end(),
                                  [&](const auto* v) { return live.contains(v); });
    if (!used) continue;
    for (auto& inner : n.blocks) {
      for (const program::Arg& r : inner->returns) mark(r, live);
      prune(*inner, live);
    }
    for (const program::Arg& a : n.args) mark(a, live);
    kept.push_back(std::move(*it));
  }
  std::reverse(kept.begin(), kept.end());
  b.nodes = std::move(kept);
}

}  // namespace

void prune(program::Program& p) {
  Live live;
  for (const program::Port& o : p.outputs) mark(o.value, live);
  prune(p.body, live);
}

}  // namespace oe::capture
