// Where a node comes from: the model's own source line, module path and operator.
#pragma once

#include <memory>
#include <string>

namespace oe {

struct Origin {
  std::string op;           // "aten::relu", "prim::If"
  std::string module_path;  // "layer1.0.conv1"; empty for the top module
  std::string file;         // as the author's Python had it, "model/net.py"; may be empty
  int line = 0;             // 1-based; 0 when unknown
  std::string text;         // that source line, stripped
};
using OriginPtr = std::shared_ptr<const Origin>;  // shared: 10^5 nodes stem from few lines

}  // namespace oe
