// Stage: functional aten program -> ONNX graph at the newest opset.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "lib/ir/ir.h"
#include "lib/lower/export_type.h"
#include "lib/lower/user_rules.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"

namespace oe::lower {

struct LowerOptions {
  ExportType type = ExportType::Onnx;
  std::map<std::string, int64_t> custom_opsets;  // domain -> version; 1 by default
  const UserRules* rules = nullptr;
  // Lines whose operators must be kept, because the target opset cannot express them. Used only if
  // the type permits to keep operators.
  std::set<OriginPtr> kept;
};

// Every problem is reported; a node whose inputs could not be lowered is skipped silently, so that
// one missing operator is one error. The model is usable only when no error was reported.
ir::Model lower(const program::Program& p, const LowerOptions& o, Diagnostics& d);

// Whether there is a row for the operator (with overload).
bool has_row(std::string_view op);

// Why an operator has no row.
const char* why_not_written(std::string_view op);

}  // namespace oe::lower
