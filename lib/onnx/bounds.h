// Private to lib/onnx: what a small serialized model may not become.
#pragma once

#include <string>

#include "lib/onnx/proto.h"

namespace oe::onnx {

// Refuses a model whose functions call themselves, or that would have far more nodes or bytes once
// its functions are expanded than the file has: Failure(Limit, OE3005), which names the function.
// `what` is the model, for the message.
void check_bounds(const pb::ModelProto& m, const std::string& what);

}  // namespace oe::onnx
