// The modules of an archive as a tree in which equal neighbours are one line.
#pragma once

#include "app/arguments.h"
#include "lib/archive/summary.h"

namespace oe::app {

// "layer1: Sequential", "  0-2: BasicBlock (3 times)", "    conv1: Conv2d".
Strings module_tree(const std::vector<archive::Summary::Module>& modules);

// "Conv2d" of "__torch__.torch.nn.modules.conv.___torch_mangle_3.Conv2d".
std::string class_name(const std::string& type);

}  // namespace oe::app
