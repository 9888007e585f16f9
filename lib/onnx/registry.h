// Private to lib/onnx: the ONNX library's schema registry, filled once per process.
#pragma once

#include <onnx/defs/schema.h>

namespace oe::onnx {

namespace pb = ONNX_NAMESPACE;

// The library is built without static registration, so that a process that never looks at a schema
// does not pay for it. Every use of the registry goes through here. Thread-safe.
const pb::OpSchemaRegistry& registry();

}  // namespace oe::onnx
