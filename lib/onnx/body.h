// Private to lib/onnx: bodies of functions put in the place of a node.
#pragma once

#include "lib/onnx/proto.h"

namespace oe::onnx {

// The first operator of ai.onnx in `nodes`, nested graphs too, that `opset` does not understand as
// the opset the body was written for does; empty when there is none.
std::string incompatible(const pb::FunctionProto& body, int64_t written, int64_t opset);

// Appends the body's nodes to `out`, with the node's own inputs and outputs, and gives their values
// the types that ONNX infers at `opset`. Throws std::runtime_error for attributes of another type.
void put_body(ir::Model& m, const ir::Node& n, const std::shared_ptr<const pb::FunctionProto>& body,
              int64_t opset, const NodeReader::AttributeLookup& lookup,
              std::vector<std::unique_ptr<ir::Node>>& out);

}  // namespace oe::onnx
