// Slices, Splits and Gathers of Concat.
#pragma once

#include "lib/ir/ir.h"

namespace oe::optimize {

// A Slice, Split or Gather along the axis of a Concat reads the inputs of the Concat. parts.cpp;
// part of the pass `slices`.
bool read_parts(ir::Model& m);

}  // namespace oe::optimize
