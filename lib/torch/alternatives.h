// Further examples of the same inputs (--alt-input, --inputs-from).
#pragma once

#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// Fills in e.alternatives from o.alternatives, and which axes differ. `specs`: the SPECs of the
// example, each with the name of its place; a further one replaces the one of its name, or the next
// of the inputs in order. What nothing replaces stays as it is. Throws Failure(Usage) where another
// example has another structure, rank or element type, or changes a constant.
void add_alternatives(const InputOptions& o, const Loaded& m, ExampleFiles& files,
                      const std::vector<InputSpec>& specs, ExampleInputs& e);

}  // namespace oe::torch_io
