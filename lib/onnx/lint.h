// What is wrong, or doubtful, with a serialized ONNX model. No onnx or protobuf type appears here.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/support/diagnostics.h"
#include "lib/support/dtype.h"

namespace oe::onnx {

struct LintProblem {
  std::string code;
  Severity severity = Severity::Error;
  std::string op, node;  // of a node; empty: the model as a whole
  std::string message;
};

// Whether a runtime lacks the operator for an element type of a schema's type variable at an opset.
using Lacks =
    std::function<bool(std::string_view op, std::string_view variable, DType t, int64_t opset)>;

// Errors: what the ONNX checker with full inference refuses (OE8001), names that two values have
// (OE8002), external data that is not there (OE8003). Warnings: initializers and nodes that nothing
// uses (OE8004, OE8005), nodes of one name (OE8006), types that `lacks` names (OE8007), an IR
// version older than the opset (OE8008), names that are no text of one line (OE8009). Notes:
// dynamic axes of inputs without a name (OE8010). Throws Failure(Unreadable) for what is no model.
std::vector<LintProblem> lint(const std::filesystem::path& path, const Lacks& lacks);

}  // namespace oe::onnx
