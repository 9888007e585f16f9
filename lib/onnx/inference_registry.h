// Private to lib/onnx: the schema registry that shape inference is given.
#pragma once

#include <onnx/defs/schema.h>

namespace oe::onnx {

// The registry, except that nested graphs are told the types of the values they use instead of
// those of every value around them: the library copies that table for each nested graph, which
// makes its inference quadratic in a model with many Ifs. Thread-safe.
const ONNX_NAMESPACE::ISchemaRegistry& inference_registry();

}  // namespace oe::onnx
