// Fills the ONNX schema registry on first use. Alone in its file: the operator set headers are the
// slowest to compile of the whole folder.
#include "lib/onnx/registry.h"

#include <onnx/defs/operator_sets.h>
#include <onnx/defs/operator_sets_ml.h>

#include <mutex>

namespace oe::onnx {

const pb::OpSchemaRegistry& registry() {
  static std::once_flag once;
  std::call_once(once, [] {
    pb::RegisterOnnxOperatorSetSchema();
    pb::RegisterOnnxMLOperatorSetSchema();
  });
  return *pb::OpSchemaRegistry::Instance();
}

}  // namespace oe::onnx
