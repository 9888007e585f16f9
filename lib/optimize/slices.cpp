// Slice of Slice on other axes becomes one.
//
//   a = Slice (x, {0}, {16}, {1})
//   y = Slice (a, {2}, {8}, {2})       =>  y = Slice (x, {0,2}, {16,8}, {1,2})
#include <algorithm>
#include <array>

#include "lib/optimize/evaluate.h"
#include "lib/optimize/passes.h"
#include "lib/optimize/rewriter.h"

namespace oe::optimize {
namespace {

using namespace ir;

struct Cut {
  Ints starts, ends, axes, steps;
};

class MergingSlices {
 public:
  explicit MergingSlices(Model& m) : rewriter_(m) {
    for_each_graph(m.graph, [&](Graph& g) {
      for (const auto& n : g.nodes)
        for (const Value* v : n->inputs) ++uses_[v];
      for (const Value* v : g.outputs) ++uses_[v];
    });
  }

  bool run() {
    return rewriter_.walk([this](Node& n) {
      if (!n.is("Slice")) return;
      const Node* inner = produced_by(n.inputs[0], "Slice");
      // One that others read stays, and is cheaper to cut again than all that it was cut from.
      if (!inner || uses_[n.inputs[0]] != 1) return;
      auto first = cut_of(*inner);
      const auto second = cut_of(n);
      if (!first || !second ||
          std::ranges::find_first_of(first->axes, second->axes) != first->axes.end())
        return;
      for (const auto list : {&Cut::starts, &Cut::ends, &Cut::axes, &Cut::steps})
        ((*first).*list)
            .insert(((*first).*list).end(), ((*second).*list).begin(), ((*second).*list).end());
      n.inputs = {inner->inputs[0], list_of(n, "_starts", first->starts),
                  list_of(n, "_ends", first->ends), list_of(n, "_axes", first->axes)};
      if (std::ranges::any_of(first->steps, [](int64_t s) { return s != 1; }))
        n.inputs.push_back(list_of(n, "_steps", first->steps));
      rewriter_.mark_changed();
    });
  }

 private:
  Rewriter rewriter_;
  std::unordered_map<const Value*, size_t> uses_;

  Value* list_of(const Node& n, const char* what, const Ints& list) {
    const auto size = static_cast<int64_t>(list.size());
    return rewriter_.model().new_initializer(n.name + what,
                                             Tensor::of<int64_t>(DType::Int64, {size}, list));
  }

  // The numbers of a Slice, axes from 0; nothing where one is computed.
  std::optional<Cut> cut_of(const Node& n) const {
    Cut c;
    const std::array lists = {&c.starts, &c.ends, &c.axes, &c.steps};
    const size_t size =
        n.input(1) && rewriter_.ints(n.input(1)) ? rewriter_.ints(n.input(1))->size() : 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      const Value* v = n.input(i + 1);
      if (const auto known = v ? rewriter_.ints(v) : std::nullopt)
        *lists[i] = *known;
      else if (v || i < 2)
        return std::nullopt;
      for (size_t k = 0; !v && k < size; ++k)
        lists[i]->push_back(i == 2 ? static_cast<int64_t>(k) : 1);
      if (lists[i]->size() != size) return std::nullopt;
    }
    for (int64_t& axis : c.axes) {
      if (axis < 0 && !n.inputs[0]->rank()) return std::nullopt;
      if (axis < 0) axis += *n.inputs[0]->rank();
    }
    return c;
  }
};

}  // namespace

bool merge_slices(Model& m, const Options&) { return MergingSlices(m).run(); }

}  // namespace oe::optimize
