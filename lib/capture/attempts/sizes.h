// Sizes at which the model is executed side by side with the example.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/torch/inputs.h"

namespace oe::capture {

using Shapes = std::vector<std::vector<int64_t>>;  // per input leaf; numbers have none

struct DynamicAxis {
  std::string name;
  int64_t example = 0;
  int64_t low = 1, high = INT64_MAX;  // declared bounds, inclusive
  // Where it occurs: (leaf, axis).
  std::vector<std::pair<size_t, size_t>> places;
};

// The declared dynamic axes in order of first occurrence.
std::vector<DynamicAxis> dynamic_axes(const torch_io::ExampleInputs& e);
// The leaves' shapes with the axes at these sizes (one per axis).
Shapes shapes_at(const torch_io::ExampleInputs& e, const std::vector<DynamicAxis>& axes,
                 const std::vector<int64_t>& sizes);
// Other sizes of an axis to try, in order: neighbors, multiples, the half. `position` keeps axes
// apart, so that no two of them have the same size in the same world.
std::vector<int64_t> other_sizes(const DynamicAxis& a, size_t position);

}  // namespace oe::capture
