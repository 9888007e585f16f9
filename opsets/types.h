// Last step of the ladder: casts around nodes whose element types the target opset does not list.
#pragma once

#include "lib/ir/ir.h"
#include "lib/support/diagnostics.h"

namespace oe::opsets {

// `avoid_ort_gaps`: also casts around types that ONNX Runtime's CPU kernels lack (ort_gaps.h).
// A type that has no exact stand-in is reported with the opset that lists it (OE5002).
void fit_types(ir::Model& m, bool avoid_ort_gaps, Diagnostics& d);

}  // namespace oe::opsets
