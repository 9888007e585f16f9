// Removes calls of the functional program that nothing uses (all of them are pure).
#pragma once

#include "lib/program/program.h"

namespace oe::capture {

void prune(program::Program& p);

}  // namespace oe::capture
