// Stage: calls of modules in a finished graph -> ONNX functions (--modules-as-functions).
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"

namespace oe::functions {

// What a call of a module computed becomes one node, and its nodes the body of a function:
// innermost calls first, so that functions call functions. Calls whose bodies are the same node by
// node share a function; attributes in which they differ are the function's. Stays as it is: what a
// call shares with what is outside in a way that no single node can stand for, and sizes of its
// inputs that others use too. `classes`: those of the modules, as "Conv2d" or
// "torch.nn.modules.conv.Conv2d"; none means all. The model is of opset 15 or newer. Linear in
// nodes and the depth of calls.
void outline_modules(ir::Model& m, const std::vector<std::string>& classes);

}  // namespace oe::functions
