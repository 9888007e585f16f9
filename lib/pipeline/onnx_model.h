// The middle of the chain, which convert and check share: lower > optimize > legalize > check, with
// the user's names.
#pragma once

#include <optional>

#include "lib/ir/ir.h"
#include "lib/onnx/write_options.h"
#include "lib/pipeline/captured_model.h"
#include "lib/precision/request.h"

namespace oe {

// The model to write.
struct OnnxModel {
  ir::Model model;                          // without the functions of modules, for verification
  std::optional<ir::Model> with_functions;  // --modules-as-functions
  std::optional<precision::Summary> precision;  // --to
  onnx::WriteOptions writing;

  ir::Model& file() { return with_functions ? *with_functions : model; }  // what is written
};

// `m` is captured as `c`; `rules` are the user's at o.opset. Nothing if an error was reported (with
// --strict also a warning). Throws Failure, also if the ONNX checker rejects the result.
std::optional<OnnxModel> onnx_model(const LoadedModel& m, const capture::Captured& c,
                                    const Options& o, const lower::UserRules& rules, Stages& stages,
                                    Diagnostics& d);

// Adds the model's facts to the outcome; parameters that are inputs are only counted.
void describe(OnnxModel& made, const LoadedModel& loaded, const Options& o, Outcome& out);

// Nodes, those of nested graphs and of functions included.
size_t node_count(ir::Model& m);

}  // namespace oe
