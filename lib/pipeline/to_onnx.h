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

// Told as each stage begins and ends. Each may be empty.
struct StageWatch {
  std::function<void(const char* stage)> begins;
  std::function<void(const char* stage, const ir::Model& m)> ended;
  optimize::OnChange changed;  // by a pass of the stage optimize
};

// Every problem is reported; the model is usable only when no error was. Operators that may stay
// what they are (--operator-export-type) do so also where only the target opset cannot say them.
ir::Model to_onnx(const program::Program& p, const Options& o, const lower::UserRules& rules,
                  const StageWatch& watch, Diagnostics& d);

// What the target opset lacks, where to_onnx() ended before it could say so: operators that cannot
// be written at any opset stay what they are.
void report_opset_limits(const program::Program& p, const Options& o, const lower::UserRules& rules,
                         Diagnostics& d);

}  // namespace oe
