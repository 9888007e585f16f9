// Transpose of Transpose becomes one, or none.
//
//   a = Transpose <perm = [0, 2, 1]> (x)
//   y = Transpose <perm = [2, 0, 1]> (a)    =>  y = Transpose <perm = [1, 0, 2]> (x)
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using namespace ir;

bool merge_transposes(Model& m, const Options&) {
  Rewriter r(m);
  return r.walk([&](Node& n) {
    if (!n.is("Transpose")) return;
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
