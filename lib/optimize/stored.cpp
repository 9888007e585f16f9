// A weight that was transposed for good, transposed when the model runs, so that the file it came
// from can hold it.
//
//   <float[3,4] w = ...>     =>   <float[4,3] w_stored = ...>
//   y = MatMul (x, w)             w = Transpose <perm = [1, 0]> (w_stored)
//                                 y = MatMul (x, w)
#include <iterator>
#include <unordered_set>

#include "lib/optimize/optimize.h"

namespace oe::optimize {

using namespace ir;

void keep_stored(Model& m, const std::function<bool(const Tensor&)>& is_stored) {
  const std::unordered_set<const Value*> inputs(m.graph.inputs.begin(), m.graph.inputs.end());
  std::vector<std::unique_ptr<Node>> nodes;
  for (Value* v : std::exchange(m.graph.initializers, {})) {
    const TensorPtr base = v->data->base();
    if (!base || base->dtype() != v->data->dtype() || inputs.contains(v) || !is_stored(*base)) {
      m.graph.initializers.push_back(v);
      continue;
    }
    v->data = nullptr;
    Value* w = m.new_initializer(v->name + "_stored", base);
    nodes.push_back(make_node(m, "Transpose", "Transpose", {w}, {v}, {{"perm", Ints{1, 0}}}));
  }
  nodes.insert(nodes.end(), std::make_move_iterator(m.graph.nodes.begin()),
               std::make_move_iterator(m.graph.nodes.end()));
  m.graph.nodes = std::move(nodes);
}

}  // namespace oe::optimize
