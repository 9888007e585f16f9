// Which LibTorch this is. Standard library only.
#pragma once

#include <string>

namespace oe::torch_io {

std::string libtorch_version();  // that the converter was built with: "2.13.0"

}  // namespace oe::torch_io
