// The shapes that values of If and Loop state.
#pragma once

#include "lib/program/program.h"

namespace oe::capture {

// A variable that is unset on a path holds a tensor of zeros there, of any size, which nobody
// reads. An output of If and a state of Loop keep the name of an axis only where each value that
// becomes it has that name: a runtime plans its memory by these names, also for values that nobody
// reads.
void join_axis_names(program::Program& p);

}  // namespace oe::capture
