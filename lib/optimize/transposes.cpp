// Transpose of Transpose becomes one, or none; one that moves axes of size 1 alone becomes Reshape.
//
//   a = Transpose <perm = [0, 2, 1]> (x)
//   y = Transpose <perm = [2, 0, 1]> (a)    =>  y = Transpose <perm = [1, 0, 2]> (x)
//
//   y = Transpose <perm = [0, 2, 1]> (x)    =>  y = Reshape (x, {-1, 1, 4})        # x is [N,4,1]
#include <utility>

#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

namespace {

using namespace ir;

// The shape that Reshape gives the result of a Transpose that leaves the elements in order; nothing
// where it moves an axis that may be larger than 1, or two sizes are not known.
std::optional<Ints> as_reshape(const Node& n) {
  const auto* perm = n.attributes.get<Ints>("perm");
  const Shape& in = n.inputs[0]->type.shape;
  if (!perm || !in || in->size() != perm->size()) return std::nullopt;
  Ints shape;
  int64_t last = -1;
  bool computed = false;
  for (const int64_t axis : *perm) {
    if (axis < 0 || axis >= static_cast<int64_t>(in->size())) return std::nullopt;
    const Dim& d = (*in)[axis];
    if (d != Dim::of(1) && std::exchange(last, axis) > axis) return std::nullopt;
    if (d.is_number() ? d.number == 0 : std::exchange(computed, true)) return std::nullopt;
    shape.push_back(d.is_number() ? d.number : -1);
  }
  return shape;
}

}  // namespace

bool merge_transposes(Model& m, const Options&) {
  Rewriter r(m);
  return r.walk([&](Node& n) {
    if (!n.is("Transpose")) return;
    // One of a constant is folded, and named after what it does to the weight.
    if (auto shape = as_reshape(n); shape && !r.constant(n.inputs[0])) {
      n.op = "Reshape";
      n.attributes = {};
      n.inputs.push_back(r.new_ints(n.name + "_shape", *shape));
      r.mark_changed();
      return;
    }
    const Node* inner = produced_by(n.inputs[0], "Transpose");
    if (!inner) return;
    const auto *p = inner->attributes.get<Ints>("perm"), *q = n.attributes.get<Ints>("perm");
    Value* x = inner->inputs[0];
    if (!p && !q) {  // both reverse the axes
      r.forward(n, x);
      return;
    }
    Ints reversed;
    for (size_t i = (p ? p : q)->size(); i-- > 0;) reversed.push_back(static_cast<int64_t>(i));
    if (!p) p = &reversed;
    if (!q) q = &reversed;
    if (p->size() != q->size()) return;
    Ints both;
    bool identity = true;
    for (int64_t axis : *q) {
      if (axis < 0 || axis >= static_cast<int64_t>(p->size())) return;
      identity &= (*p)[axis] == static_cast<int64_t>(both.size());
      both.push_back((*p)[axis]);
    }
    if (identity) {
      r.forward(n, x);
      return;
    }
    n.inputs[0] = x;
    n.attributes.set("perm", std::move(both));
    r.mark_changed();
  });
}

}  // namespace oe::optimize
