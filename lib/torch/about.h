// Which LibTorch this is. Standard library only.
#pragma once

#include <string>

namespace oe::torch_io {

std::string libtorch_version();  // that the converter was built with: "2.13.0"
// Whether it is of the minor version whose results the tests take as right. Others differ in single
// operators (docs/packages.md).
bool is_tested_libtorch();

}  // namespace oe::torch_io
