// Stage: ONNX graph at its target opset -> the same graph with weights and arithmetic in float16 or
// bfloat16 where that is safe (rules.h; docs/precision.md).
//
// Weights are rounded when they are written, once. A value that one node makes in one type and
// another reads in the other gets one Cast, behind the node that makes it.
#pragma once

#include "lib/ir/ir.h"
#include "lib/precision/request.h"
#include "lib/support/diagnostics.h"

namespace oe::precision {

// `avoid_ort_gaps`: nodes that ONNX Runtime's CPU kernels cannot do in float16 stay float32; for
// bfloat16, of which it has hardly any, that is not asked. Reports what the user has to know.
// Throws Failure(Usage) where nothing has a name of `keep`.
Summary reduce(ir::Model& m, const Request& r, bool avoid_ort_gaps, Diagnostics& d);

// The same numbers by kernels of float32 alone: each node of 16 bits that computes reads casts of
// what it read, and what it gives is rounded. ONNX Runtime's CPU provider would leave out the
// rounding between neighbours, and has hardly any kernels for bfloat16.
void emulate(ir::Model& m);

}  // namespace oe::precision
