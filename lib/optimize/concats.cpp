// Concat of Concat along one axis becomes one.
//
//   a = Concat <axis = 1> (x, y)
//   b = Concat <axis = 1> (a, z)       =>  b = Concat <axis = 1> (x, y, z)
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {

using namespace ir;

bool merge_concats(Model& m, const Options&) {
  Rewriter r(m);
  auto uses = use_counts(m);
  return r.walk([&](Node& n) {
    if (!n.is("Concat")) return;
    std::vector<Value*> inputs;
    for (Value* v : n.inputs) {
      const Node* inner = produced_by(v, "Concat");
      // One that others read stays: it would only be copied twice. An axis counted from the end may
      // be the same all the same; lowering counts from the front.
      if (inner && uses[v] == 1 &&
          inner->attributes.get_or<int64_t>("axis", 1) == n.attributes.get_or<int64_t>("axis", 1))
        inputs.insert(inputs.end(), inner->inputs.begin(), inner->inputs.end());
      else
        inputs.push_back(v);
    }
    if (inputs.size() == n.inputs.size()) return;
    n.inputs = std::move(inputs);
    r.mark_changed();
  });
}

}  // namespace oe::optimize
