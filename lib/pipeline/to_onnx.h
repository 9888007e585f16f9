// The stages from the program to ONNX at the target opset: lower > optimize > legalize.
#pragma once

#include <functional>

#include "lib/ir/ir.h"
#include "lib/lower/user_rules.h"
#include "lib/optimize/optimize.h"
#include "lib/options/options.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Called as each stage begins and ends. Each may be empty.
struct StageWatch {
  std::function<void(const char* stage)> begins;
  std::function<void(const char* stage, const ir::Model& m)> ended;
  optimize::OnChange changed;  // by a pass of the stage optimize
};

// Reports every problem; the model is usable only if there was no error. Operators that may be kept
// (--operator-export-type) are also kept if only the target opset cannot express them.
ir::Model to_onnx(const program::Program& p, const Options& o, const lower::UserRules& rules,
                  const StageWatch& watch, Diagnostics& d);

// Reports operators that the target opset lacks, if to_onnx() ended before it checked them:
// operators that cannot be written at any opset are kept.
void report_opset_limits(const program::Program& p, const Options& o, const lower::UserRules& rules,
                         Diagnostics& d);

}  // namespace oe
