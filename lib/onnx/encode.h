// Private to lib/onnx: ir::Model to protobuf bytes. The only way a model leaves the tool: what the
// checker sees is parsed back from these bytes.
#pragma once

#include <limits>
#include <string>
#include <unordered_map>

#include "lib/ir/ir.h"
#include "lib/onnx/rope.h"

namespace oe::onnx {

// Offsets of the tensors that live in the external file.
struct ExternalLayout {
  std::string location;
  std::unordered_map<const Tensor*, uint64_t> offsets;
};

struct EncodeOptions {
  bool doc_strings = false;
  bool initializers_as_inputs = false;
  const ExternalLayout* external = nullptr;
  // Initializers over this many bytes are written as typed graph inputs, without their data: for
  // the checker and shape inference, which need a weight's type but not its elements.
  size_t stub_above = std::numeric_limits<size_t>::max();
};

// ModelProto. The bytes depend on the model and the options alone. Views into the model's tensors.
Rope encode(const ir::Model& m, const EncodeOptions& o);
// NodeProto; the nodes of a model's graph are encoded in the same way.
Rope encode_node(const ir::Node& n, const EncodeOptions& o);

}  // namespace oe::onnx
