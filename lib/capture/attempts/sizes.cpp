// Candidates for the sizes of dynamic axes.
#include "lib/capture/attempts/sizes.h"

#include <algorithm>

namespace oe::capture {

std::vector<DynamicAxis> dynamic_axes(const torch_io::ExampleInputs& e) {
  std::vector<DynamicAxis> axes;
  for (size_t leaf = 0; leaf < e.leaves.size(); ++leaf) {
    const auto& l = e.leaves[leaf];
    for (size_t axis = 0; axis < l.axis_names.size(); ++axis) {
      if (l.axis_names[axis].empty()) continue;
      auto it = std::find_if(axes.begin(), axes.end(),
                             [&](const DynamicAxis& a) { return a.name == l.axis_names[axis]; });
      if (it == axes.end()) {
        it = axes.insert(axes.end(), DynamicAxis{});
        it->name = l.axis_names[axis];
        it->example = l.value.toTensor().size(static_cast<int64_t>(axis));
      }
      if (axis < l.bounds.size() && l.bounds[axis].second >= l.bounds[axis].first) {
        it->low = std::max(it->low, l.bounds[axis].first);
        it->high = std::min(it->high, l.bounds[axis].second);
      }
      it->places.emplace_back(leaf, axis);
    }
  }
  return axes;
}

Shapes shapes_at(const torch_io::ExampleInputs& e, const std::vector<DynamicAxis>& axes,
                 const std::vector<int64_t>& sizes) {
  Shapes shapes;
  for (const auto& l : e.leaves)
    shapes.push_back(l.value.isTensor() ? l.value.toTensor().sizes().vec()
                                        : std::vector<int64_t>{});
  for (size_t i = 0; i < axes.size(); ++i)
    for (const auto& [leaf, axis] : axes[i].places) shapes[leaf][axis] = sizes[i];
  return shapes;
}

std::vector<int64_t> other_sizes(const DynamicAxis& a, size_t position) {
  const int64_t n = a.example, p = static_cast<int64_t>(position);
  std::vector<int64_t> wanted;
  // A sequence or batch: the neighbourhood. An image side: enough to move every pooled size. What
  // verification tries is among them (lib/verify/size_picker.cpp), so that both find the same axes
  // to have one size only.
  if (n < 64)
    wanted = {n + 1 + p, 2 * n + 3 + p, 2 * n, n + 32, n / 2, n - 1,  3 * n,
              1,         n + 1,         n + 3, n + 2,  n + 8, n + 16, 4 * n};
  else
    wanted = {
        n + 32 * (p + 1), n + 1 + p, 2 * n, n / 2, n - 1, 3 * n, 1, n + 1, n + 3, n + 2, n + 8,
        n + 16,           n + 32,    4 * n};
  std::vector<int64_t> out;
  for (int64_t s : wanted)
    if (s >= std::max<int64_t>(a.low, 1) && s <= a.high && s != n &&
        std::find(out.begin(), out.end(), s) == out.end())
      out.push_back(s);
  return out;
}

}  // namespace oe::capture
