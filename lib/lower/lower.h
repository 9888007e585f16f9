// Stage: functional aten program -> ONNX graph at the newest opset.
#pragma once

#include <string_view>

#include "lib/ir/ir.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"

namespace oe::lower {

// Every problem is reported; a node whose inputs could not be lowered is skipped silently, so that
// one missing operator is one error. The model is usable only when no error was reported.
ir::Model lower(const program::Program& p, Diagnostics& d);

// Whether there is a row for the operator (with overload).
bool has_row(std::string_view op);

}  // namespace oe::lower
