// Opset 8: Expand, broadcasting of Max, Min, Mean and Sum, indices of MaxPool.
#include <algorithm>

#include "opsets/rung.h"

namespace oe::opsets {
namespace {

bool same_shapes(const ir::Node& n) {
  const Shape& first = n.inputs[0]->type.shape;
  if (!first) return n.inputs.size() == 1;
  for (const Dim& d : *first)
    if (d.kind == Dim::Kind::Unknown && n.inputs.size() > 1) return false;
  return std::all_of(n.inputs.begin(), n.inputs.end(),
                     [&](const ir::Value* v) { return v->type.shape == first; });
}

void sum(Rewriter& r, ir::Node& n) {
  if (same_shapes(n)) return r.keep();
  T y = r.in(0);
  for (size_t i = 1; i < n.inputs.size(); ++i) y = y + r.in(i);
  if (n.op == "Mean") y = y / static_cast<double>(n.inputs.size());
  r.bind(n.outputs[0], y);
}

void extreme(Rewriter& r, ir::Node& n) {
  if (same_shapes(n)) return r.keep();
  T y = r.in(0);
  for (size_t i = 1; i < n.inputs.size(); ++i)
    y = n.op == "Max" ? maximum(y, r.in(i)) : minimum(y, r.in(i));
  r.bind(n.outputs[0], y);
}

void expand(Rewriter& r, ir::Node& n) { r.bind(n.outputs[0], expand(r.in(0), r.in(1))); }

void max_pool(Rewriter& r, ir::Node& n) {
  if (n.outputs.size() > 1 && n.outputs[1])
    throw Unsupported("needs opset 8 or later for the indices of MaxPool");
  n.outputs.resize(1);
  n.attributes.erase("storage_order");
  r.keep();
}

constexpr Row rows[] = {
    rewrite("Expand", expand), rewrite("Max", extreme), rewrite("MaxPool", max_pool),
    rewrite("Mean", sum),      rewrite("Min", extreme), needs("Scan"),
    rewrite("Sum", sum),
};

}  // namespace

Rung opset_08() { return rows; }

}  // namespace oe::opsets
