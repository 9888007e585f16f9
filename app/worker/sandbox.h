// Confines the process before it reads the first byte of a model: afterwards it computes, asks its
// supervisor for files, and can do nothing else.
#pragma once

#include "app/launch.h"
#include "app/sandbox_level.h"

namespace oe::app {

// Limits the process's memory, processor time, files and core dumps. What was loaded before stays.
void apply_limits(const Launch& l);

// Gives up privileges, paths, network, signals to others and all system calls that computing does
// not need; threads that start later inherit it. The process must have one thread. Throws
// Failure(MissingPart, OE0811) where --sandbox=require misses a part.
SandboxLevel confine(const Launch& l);

}  // namespace oe::app
