// Which axes of the example inputs are dynamic, and their names.
#pragma once

#include <string>
#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// Fills in names (--input-names), axis names and bounds of e.leaves from the specs (one a leaf,
// null where none), --dynamic-axes and --dynamic-batch. Throws Failure(Usage) for an axis that does
// not exist and for one name with two sizes.
void name_axes(const InputOptions& o, const std::vector<InputSpec>& specs, ExampleInputs& e);

// The same for e.leaves from `first` on, which are state: names by --input-names, axes by
// --dynamic-axes (e.options) where it names them. Keys that do are taken out of
// e.output_axes_unresolved.
void name_state_axes(size_t first, ExampleInputs& e);

// "x_axis0": the default name of a dynamic axis. `axis` counts from 0.
std::string automatic_axis_name(const std::string& input, size_t axis);

}  // namespace oe::torch_io
