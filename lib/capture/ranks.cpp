// Where a rank that is not the same in every run comes from.
#include "lib/capture/ranks.h"

#include <algorithm>

namespace oe::capture {
namespace {

bool unranked(const program::Value* v) {
  return v->type.kind == program::Type::Kind::Tensor && !v->type.shape;
}

// The argument without a rank, if one of them has none.
const program::Value* unranked_argument(const program::Args& args) {
  for (const program::Arg& a : args) {
    if (const auto* v = std::get_if<program::Value*>(&a.v); v && unranked(*v)) return *v;
    if (const auto* list = std::get_if<program::Args>(&a.v))
      if (const program::Value* v = unranked_argument(*list)) return v;
  }
  return nullptr;
}

}  // namespace

RankSource rank_source(const program::Value* v) {
  while (v && v->producer) {
    const program::Node& n = *v->producer;
    if (const program::Value* before = unranked_argument(n.args)) {
      v = before;
      continue;
    }
    RankSource found{&n, {}};
    if (!n.op.starts_with("aten::squeeze")) return found;
    for (const program::Arg& a : n.args)
      if (const auto* t = std::get_if<program::Value*>(&a.v); t && (*t)->type.shape)
        for (const Dim& d : *(*t)->type.shape)
          if (d.is_symbol() && std::ranges::find(found.axes, d.symbol) == found.axes.end())
            found.axes.push_back(d.symbol);
    return found;
  }
  return {};
}

}  // namespace oe::capture
