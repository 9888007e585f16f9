// Forms of operators that ONNX Runtime's CPU kernels do not know or get wrong, whatever the types.
#pragma once

#include "opsets/rewriter.h"

namespace oe::opsets {

using Rewrite = void (*)(Rewriter&, ir::Node&);

// How to say such a node otherwise; null where ONNX Runtime can run it as it is.
Rewrite ort_form(const ir::Node& n);

}  // namespace oe::opsets
