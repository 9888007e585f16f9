// Forms of operators that ONNX Runtime's CPU kernels do not know or get wrong, whatever the types,
// and one that its fusion of Attention does not recognize.
#pragma once

#include "opsets/rewriter.h"

namespace oe::opsets {

using Rewrite = void (*)(Rewriter&, ir::Node&);

// How to write such a node of this opset otherwise; null where ONNX Runtime runs it as it is.
Rewrite ort_form(const ir::Node& n, int64_t opset);

}  // namespace oe::opsets
