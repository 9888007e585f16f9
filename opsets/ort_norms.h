// Quotients that ONNX Runtime takes for normalizations.
#pragma once

#include "lib/ir/ir.h"

namespace oe::opsets {

// Whether ONNX Runtime fuses this Div, whose operand is a Sqrt, to a normalization that computes
// something else. Its LayerNormFusion and SimplifiedLayerNormFusion (1.32) look at the operators,
// not at the exponent, at keepdims and at the order of operands:
//
//   c = Sub (x, ReduceMean (x))
//   y = Div (c, Sqrt (Add (ReduceMean (Pow (c, {4})), eps)))
bool is_fused_as_norm(const ir::Node& n);

}  // namespace oe::opsets
