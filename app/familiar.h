// Command lines as users of torch.onnx, polygraphy, trtexec and ovc write them.
#pragma once

#include "app/arguments.h"

namespace oe::app {

// Rewrites options that are known from other tools into ours; `known` are ours ("--opset").
// Arguments that are ours already stay as they are. Throws Failure(Usage) with the line to type for
// options that other tools have and this one does differently.
Strings familiar(const Strings& arguments, const Strings& known);

}  // namespace oe::app
