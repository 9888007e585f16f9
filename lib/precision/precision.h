// Stage: ONNX graph at its target opset -> the same graph with weights and arithmetic in float16 or
// bfloat16 where that is safe (rules.h; docs/precision.md).
//
// Weights are rounded once, when they are written. If one node produces a value in one type and
// others read it in the other, one Cast follows the node that produces it.
#pragma once

#include "lib/ir/ir.h"
#include "lib/precision/request.h"
#include "lib/support/diagnostics.h"

namespace oe::precision {

// `avoid_ort_gaps`: nodes that ONNX Runtime's CPU kernels cannot compute in float16 stay float32;
// it does not apply to bfloat16, for which they hardly exist. Reports notes for the user. Throws
// Failure(Usage) if a name in `keep` matches nothing.
Summary reduce(ir::Model& m, const Request& r, bool avoid_ort_gaps, Diagnostics& d);

// Emulates 16 bits with float32 kernels: each 16-bit node reads casts of its inputs, and its result
// is rounded. ONNX Runtime's CPU provider would omit the rounding between adjacent nodes, and has
// hardly any kernels for bfloat16.
void emulate(ir::Model& m);

}  // namespace oe::precision
