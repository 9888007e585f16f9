// Private to lib/verify: finding and loading the ONNX Runtime library.
#pragma once

#include <string>

namespace oe::verify {

// Handle of dlopen, never closed (ONNX Runtime keeps threads); null and `why` when there is none.
void* load_ort_library(const std::string& path, std::string& why);

}  // namespace oe::verify
