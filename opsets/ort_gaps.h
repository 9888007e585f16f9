// Element types that the specification lists and ONNX Runtime's CPU kernels lack (data table).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "lib/support/dtype.h"

namespace oe::opsets {

struct OrtGap {
  std::string_view op;
  std::string_view variable;  // the schema's type variable: "T"
  DType dtype;
  int first_opset, last_opset;  // both included; ONNX Runtime knows opsets 7 to 28
};

// Sorted by operator. Written by scripts/ort_gaps.py.
extern const OrtGap kOrtGaps[];
extern const size_t kOrtGapCount;

bool ort_lacks(std::string_view op, std::string_view variable, DType t, int64_t opset);

}  // namespace oe::opsets
