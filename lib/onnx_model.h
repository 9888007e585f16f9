// The middle of the chain, which convert and check share: lower > optimize > legalize > check, with
// the names the user asked for.
#pragma once

#include <optional>

#include "lib/captured_model.h"
#include "lib/ir/ir.h"
#include "lib/onnx/write_options.h"

namespace oe {

// What is written, and how.
struct OnnxModel {
  ir::Model model;
  onnx::WriteOptions writing;
};

// `m` is captured as `c`; `rules` are the user's at o.opset. Nothing where an error was reported
// (with --strict also a warning). Throws Failure, also where the ONNX checker refuses the result.
std::optional<OnnxModel> onnx_model(const LoadedModel& m, const capture::Captured& c,
                                    const Options& o, const lower::UserRules& rules, Stages& stages,
                                    Diagnostics& d);

// Tells the outcome of the model; `shown`: how many of the inputs are listed by name.
void describe(ir::Model& m, size_t shown, Outcome& out);

// Nodes, nested ones included.
size_t node_count(ir::Model& m);

}  // namespace oe
