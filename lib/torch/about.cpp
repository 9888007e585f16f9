// Which LibTorch this is.
#include "lib/torch/about.h"

#include <torch/headeronly/version.h>

namespace oe::torch_io {

std::string libtorch_version() {
  return std::to_string(TORCH_VERSION_MAJOR) + "." + std::to_string(TORCH_VERSION_MINOR) + "." +
         std::to_string(TORCH_VERSION_PATCH);
}

bool is_tested_libtorch() {
  return libtorch_version().starts_with(std::string(kTestedLibtorch) + ".");
}

}  // namespace oe::torch_io
