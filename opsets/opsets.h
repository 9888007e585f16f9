// Stage: ONNX graph at the newest opset -> the same graph at the target opset, one rung at a time.
#pragma once

#include <memory>

#include "lib/ir/ir.h"
#include "lib/support/diagnostics.h"

namespace oe::opsets {

// Walks the ladder down to `target`. A use that cannot be expressed below opset N is reported with
// needs_opset = N. `avoid_ort_gaps`: also cast around element types that ONNX Runtime's CPU kernels
// do not implement (--target ort).
void legalize(ir::Model& m, int64_t target, bool avoid_ort_gaps, Diagnostics& d);

// legalize() to several opsets with one walk.
class Descent {
 public:
  Descent(ir::Model m, bool avoid_ort_gaps);
  ~Descent();
  Descent(const Descent&) = delete;
  Descent& operator=(const Descent&) = delete;
  // A model of its own, the same as legalize() makes. Targets come in descending order.
  ir::Model at(int64_t target, Diagnostics& d);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace oe::opsets
