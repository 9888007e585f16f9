// Stage: ONNX graph at the newest opset -> the same graph at the target opset, one rung at a time.
#pragma once

#include "lib/ir/ir.h"
#include "lib/support/diagnostics.h"

namespace oe::opsets {

// Walks the ladder down to `target`. A use that cannot be said below opset N is reported with
// needs_opset = N. `avoid_ort_gaps`: also cast around element types that ONNX Runtime's CPU
// kernels are known not to implement (--target ort).
void legalize(ir::Model& m, int64_t target, bool avoid_ort_gaps, Diagnostics& d);

}  // namespace oe::opsets
