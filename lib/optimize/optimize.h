// Stage: ONNX graph -> the same function with fewer nodes. Idempotent, linear, bounded.
#pragma once

#include <functional>
#include <span>
#include <string_view>

#include "lib/ir/ir.h"
#include "lib/optimize/options.h"

namespace oe::optimize {

struct Pass {
  std::string_view name;
  std::string_view what;                    // one line, for the generated pass list
  bool (*run)(ir::Model&, const Options&);  // one linear walk; whether it changed anything
  bool any_opset;  // also right on models of an older opset: part of cleanup()
};
std::span<const Pass> passes();  // in the order they run

// Infers missing types, then runs the passes in rounds until a round changes nothing (a few rounds;
// their number is bounded). The model is at the newest opset, or at least 18: nodes whose axes are
// attributes in older ones are not understood.
void optimize(ir::Model& m, const Options& o);

// The passes that are right at any opset, 7 and up: for what legalisation leaves behind.
void cleanup(ir::Model& m);

// Weights that were transposed for good, but which a file holds as they were (`is_stored`), are
// transposed by a node again. At any opset.
void keep_stored(ir::Model& m, const std::function<bool(const Tensor&)>& is_stored);

}  // namespace oe::optimize
