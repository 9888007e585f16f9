// Names of the axes that further examples have at other sizes.
#include <map>
#include <utility>

#include "lib/infer/infer.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/axes.h"

namespace oe::infer {
namespace {

// The axis in the example and in each further one.
std::vector<int64_t> sizes_in_all(const torch_io::ExampleInputs& e, size_t leaf, size_t axis) {
  const auto at = static_cast<int64_t>(axis);
  std::vector<int64_t> sizes = {e.leaves[leaf].value.toTensor().size(at)};
  for (const auto& values : e.alternatives) sizes.push_back(values[leaf].toTensor().size(at));
  return sizes;
}

bool differs(const torch_io::InputLeaf& leaf, size_t axis) {
  return axis < leaf.differs.size() && leaf.differs[axis];
}

// Axes of one name have one size in every example, within its bounds.
void require_agreement(const torch_io::ExampleInputs& e) {
  std::map<std::string, std::pair<std::string, std::vector<int64_t>>> known;
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    const torch_io::InputLeaf& leaf = e.leaves[i];
    if (leaf.role != torch_io::Role::Own) continue;
    for (size_t axis = 0; axis < leaf.axis_names.size(); ++axis) {
      const std::string& name = leaf.axis_names[axis];
      if (name.empty()) continue;
      const std::vector<int64_t> sizes = sizes_in_all(e, i, axis);
      const auto [it, fresh] = known.try_emplace(name, leaf.name, sizes);
      for (size_t k = 1; k < sizes.size(); ++k) {
        if (!fresh && it->second.second[k] != sizes[k])
          usage_error(
              "OE0214",
              "in a further example axis '" + name + "' is " +
                  std::to_string(it->second.second[k]) + " in input '" + it->second.first +
                  "' and " + std::to_string(sizes[k]) + " in input '" + leaf.name + "'",
              "axes with the same name must have the same size: change both, or use two names");
        const auto [low, high] = leaf.bounds[axis];
        if (low <= high && (sizes[k] < low || sizes[k] > high))
          usage_error("OE0215", "axis '" + name + "' of input '" + leaf.name + "' is " +
                                    std::to_string(sizes[k]) +
                                    " in a further example, outside its bounds");
      }
    }
  }
}

}  // namespace

void name_differing_axes(torch_io::ExampleInputs& e,
                         const std::vector<std::vector<Freedom>>& freedom) {
  // Of axes that LibTorch moves neither alone nor together, those of the same sizes are one.
  std::map<std::pair<size_t, std::vector<int64_t>>, std::string> alike;
  for (size_t i = 0; i < e.leaves.size(); ++i) {
    torch_io::InputLeaf& leaf = e.leaves[i];
    for (size_t axis = 0; axis < leaf.axis_names.size(); ++axis) {
      if (!differs(leaf, axis) || !leaf.axis_names[axis].empty()) continue;
      const std::string own = torch_io::automatic_axis_name(leaf.name, axis);
      leaf.axis_names[axis] =
          freedom[i][axis].free
              ? freedom[i][axis].symbol
              : alike.try_emplace({axis, sizes_in_all(e, i, axis)}, own).first->second;
    }
  }
  // What shares a name with one of them has to follow it, whether it differs itself or not.
  require_agreement(e);
}

}  // namespace oe::infer
