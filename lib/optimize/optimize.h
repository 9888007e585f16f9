// Stage: ONNX graph -> the same function with fewer nodes. Idempotent, linear, bounded.
#pragma once

#include <functional>
#include <string_view>

#include "lib/ir/ir.h"
#include "lib/optimize/options.h"

namespace oe::optimize {

// Called after each pass that changed the model, with the result.
using OnChange = std::function<void(std::string_view pass, const ir::Model& m)>;

// Infers missing types, then runs the passes in rounds until a round changes nothing (a bounded
// number of rounds). The model is at the newest opset, or at least at 18: nodes with axes as
// attributes, as in older opsets, are not supported.
void optimize(ir::Model& m, const Options& o, const OnChange& on_change = {});

// Runs the passes that are valid at any opset from 7 on.
void cleanup(ir::Model& m, const Options& o = {});

// The same on the result of legalization. The nodes that state a rank which holds in one branch
// only go too: no later stage needs it.
void finish(ir::Model& m, const Options& o = {});

// Names dims of the graph's outputs that have neither number nor name after the named dims of its
// inputs: "2*h", "batch*tokens". Exact for all sizes; others stay unknown. The model is at the
// newest opset. Linear.
void name_output_dims(ir::Model& m);

// Names the dims of outputs that still have neither after the output and the axis, "boxes_axis0".
// Dims that are known to be equal share a name. At any opset. Linear.
void name_other_dims(ir::Model& m);

// Adds a node that transposes a weight again, if a file stores it untransposed (`is_stored`). Valid
// at any opset.
void keep_stored(ir::Model& m, const std::function<bool(const Tensor&)>& is_stored);

}  // namespace oe::optimize
