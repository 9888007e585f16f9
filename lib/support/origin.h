// The origin of a node: the model's own source line, module path and operator.
#pragma once

#include <memory>
#include <string>

namespace oe {

// One call of a module other than the top one; calls of one module are different objects.
struct ModuleCall {
  std::shared_ptr<const ModuleCall> parent;  // the enclosing call; null in the top module
  std::string module_path;                   // "layer1.0.conv1"
  std::string module_class;                  // "torch.nn.modules.conv.Conv2d", as in Python
};
using ModuleCallPtr = std::shared_ptr<const ModuleCall>;

struct Origin {
  std::string op;           // "aten::relu", "prim::If"
  std::string module_path;  // "layer1.0.conv1"; empty for the top module
  std::string file;         // as in the author's Python, "model/net.py"; may be empty
  int line = 0;             // 1-based; 0 when unknown
  std::string text;         // that source line, stripped
  ModuleCallPtr call = {};  // the innermost one; null in the top module
};
using OriginPtr = std::shared_ptr<const Origin>;  // shared: 10^5 nodes have few source lines

}  // namespace oe
