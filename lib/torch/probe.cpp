// --dynamic-axes without a value: which axes LibTorch runs at another size.
#include "lib/torch/probe.h"

#include <ATen/core/Tensor.h>

#include <stdexcept>
#include <utility>

#include "lib/torch/axes.h"

namespace oe::torch_io {
namespace {

using Place = std::pair<size_t, size_t>;  // leaf, axis

int64_t size_at(const ExampleInputs& e, const Place& p) {
  return e.leaves[p.first].value.toTensor().size(static_cast<int64_t>(p.second));
}

bool runs(const ExampleInputs& e, Reference& reference, const std::vector<Place>& places) {
  std::vector<std::vector<int64_t>> sizes;
  for (const InputLeaf& l : e.leaves)
    sizes.push_back(l.value.isTensor() ? l.value.toTensor().sizes().vec() : std::vector<int64_t>{});
  const int64_t n = size_at(e, places[0]);
  for (const int64_t other : {n + 1, 2 * n, n + 3, n + 32}) {
    if (other == n) continue;
    for (const auto& [leaf, axis] : places) sizes[leaf][axis] = other;
    try {
      reference.run(e, {sizes, e.seed, {}}, {});
      return true;
    } catch (const std::runtime_error&) {
      // LibTorch refuses this size.
    }
  }
  return false;
}

}  // namespace

void name_axes_that_run(ExampleInputs& e, Reference& reference) {
  for (size_t leaf = 0; leaf < e.leaves.size(); ++leaf)
    for (size_t axis = 0; axis < e.leaves[leaf].axis_names.size(); ++axis) {
      if (!e.leaves[leaf].axis_names[axis].empty()) continue;
      std::vector<Place> places = {{leaf, axis}};
      if (!runs(e, reference, places)) {
        for (size_t other = leaf + 1; other < e.leaves.size(); ++other)
          if (axis < e.leaves[other].axis_names.size() &&
              e.leaves[other].axis_names[axis].empty() &&
              size_at(e, {other, axis}) == size_at(e, {leaf, axis}))
            places.emplace_back(other, axis);
        if (places.size() == 1 || !runs(e, reference, places)) continue;
      }
      for (const auto& [l, a] : places)
        e.leaves[l].axis_names[a] = automatic_axis_name(e.leaves[leaf].name, axis + 1);
    }
}

}  // namespace oe::torch_io
