// Stage: calls of modules in a finished graph -> ONNX functions (--modules-as-functions).
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::functions {

// Replaces the nodes of each module call by one node that calls an ONNX function with
// these nodes: innermost calls first, so that functions call functions. Calls with
// identical bodies share a function; attributes in which they differ become the
// function's. Stays inline: a call that no single node can represent, and sizes of its
// inputs that other nodes also use. `classes`: of the modules, as "Conv2d" or
// "torch.nn.modules.conv.Conv2d"; none means all. The model has opset 15 or newer. Linear
// in nodes and depth of calls.
void outline_modules(ir::Model& m, const std::vector<std::string>& classes);

}  // namespace oe::functions
