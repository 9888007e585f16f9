// --dynamic-axes without a value: which axes LibTorch runs at another size.
#pragma once

#include "lib/torch/inputs.h"
#include "lib/torch/reference.h"

namespace oe::torch_io {

// Names every axis of `e` that has no name yet and that LibTorch runs at some other size, alone or
// together with the axes of other inputs that have the same position and size (x + y needs both).
// One forward pass an attempt.
void name_axes_that_run(ExampleInputs& e, Reference& reference);

}  // namespace oe::torch_io
