// The opsets of ai.onnx that the converter supports.
#pragma once

#include <cstdint>

namespace oe {

// A test compares the newest with the ONNX library's.
inline constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

}  // namespace oe
