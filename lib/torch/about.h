// Which LibTorch this is. Standard library only.
#pragma once

#include <string>
#include <string_view>

namespace oe::torch_io {

std::string libtorch_version();  // that the converter was built with: "2.13.0"
// The minor version whose results the tests take as right. Others differ in single operators
// (docs/packages.md).
inline constexpr std::string_view kTestedLibtorch = "2.13";
bool is_tested_libtorch();

}  // namespace oe::torch_io
