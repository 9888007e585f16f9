// Stage: ONNX graph -> the same function with fewer nodes. Idempotent, linear, bounded.
#pragma once

#include <functional>
#include <string_view>

#include "lib/ir/ir.h"
#include "lib/optimize/options.h"

namespace oe::optimize {

// Hears of each pass that changed the model, with what it made of it.
using OnChange = std::function<void(std::string_view pass, const ir::Model& m)>;

// Infers missing types, then runs the passes in rounds until a round changes nothing (a few rounds;
// their number is bounded). The model is at the newest opset, or at least 18: nodes whose axes are
// attributes in older ones are not understood.
void optimize(ir::Model& m, const Options& o, const OnChange& on_change = {});

// The passes that are right at any opset, 7 and up: for what legalization leaves behind.
void cleanup(ir::Model& m, const Options& o = {});

// Names dims of the graph's outputs that have neither number nor name after the named dims of its
// inputs: "2*h", "batch*tokens". Exact for all sizes; others stay unknown. The model is at the
// newest opset. Linear.
void name_output_dims(ir::Model& m);

// Names the dims of outputs that still have neither after the output and the axis, "boxes_axis0".
// Dims that are known to be equal share a name. At any opset. Linear.
void name_other_dims(ir::Model& m);

// Weights that were transposed for good, but which a file holds as they were (`is_stored`), are
// transposed by a node again. At any opset.
void keep_stored(ir::Model& m, const std::function<bool(const Tensor&)>& is_stored);

}  // namespace oe::optimize
