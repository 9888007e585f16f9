// Concat of Concat along one axis becomes one. Inputs without elements go.
//
//   a = Concat <axis = 1> (x, y)
//   b = Concat <axis = 1> (a, z)       =>  b = Concat <axis = 1> (x, y, z)
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"
#include "lib/optimize/tensors.h"

namespace oe::optimize {

using namespace ir;

namespace {

// Whether `v` adds nothing along the axis.
bool is_empty(const Value* v, int64_t axis) {
  if (!has_rank(v)) return false;
  const auto at = normalized(axis, *v->rank());
  return at && (*v->type.shape)[static_cast<size_t>(*at)] == Dim::of(0);
}

}  // namespace

bool merge_concats(Model& m, const Options&) {
  Rewriter r(m);
  auto uses = use_counts(m);
  return r.walk([&](Node& n) {
    if (!n.is("Concat")) return;
    const int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
    std::vector<Value*> inputs;
    for (Value* v : n.inputs) {
      const Node* inner = produced_by(v, "Concat");
      // One that others read stays: it would only be copied twice. An axis counted from the end may
      // be the same all the same; lowering counts from the front.
      if (inner && uses[v] == 1 && inner->attributes.get_or<int64_t>("axis", 1) == axis)
        inputs.insert(inputs.end(), inner->inputs.begin(), inner->inputs.end());
      else
        inputs.push_back(v);
    }
    const size_t all = inputs.size();
    std::erase_if(inputs, [&](const Value* v) { return is_empty(v, axis); });
    if (inputs.empty() || (all == n.inputs.size() && inputs.size() == all)) return;
    n.inputs = std::move(inputs);
    r.mark_changed();
  });
}

}  // namespace oe::optimize
