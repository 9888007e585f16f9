// The table of passes and the rounds they run in.
#include "lib/optimize/passes.h"

#include <array>

#include "lib/onnx/onnx.h"

namespace oe::optimize {
namespace {

constexpr std::array kPasses = {
    Pass{"constants", "Constant nodes become initializers", constants_to_initializers, true},
    Pass{"branches", "If with a known condition becomes the branch taken", inline_branches, true},
    Pass{"noops", "nodes that return their input are removed", remove_noops, true},
    Pass{"casts", "chains of Cast become one where no value is rounded in between", merge_casts,
         true},
    Pass{"transposes", "Transpose of Transpose becomes one or none", merge_transposes, true},
    Pass{"reshapes", "chains of Reshape, Squeeze, Unsqueeze and Flatten become one or none",
         merge_reshapes, false},
    Pass{"shapes", "arithmetic on sizes is folded, gathered and copied dims become constants",
         simplify_shapes, false},
    Pass{"fold", "nodes of constants become initializers, up to the fold limit", fold_constants,
         false},
    Pass{"batch_norms", "BatchNormalization goes into the Conv, ConvTranspose or Gemm beside it",
         fold_batch_norms, false},
    Pass{"duplicates", "equal nodes with equal inputs become one", remove_duplicates, true},
    Pass{"initializers", "equal initializers become one", share_initializers, true},
    Pass{"dead_code", "nodes, outputs and initializers that nothing uses are removed",
         remove_dead_code, true},
};

// A round is one linear walk a pass. Real models settle in two to four; the bounds keep the stage
// linear whatever the model.
constexpr int kMostRounds = 16;
constexpr int kMostInferences = 4;

bool run(ir::Model& m, const Options& o, bool any_opset_only) {
  bool changed = true, ever = false;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (const Pass& p : kPasses)
      if (p.any_opset || !any_opset_only) changed |= p.run(m, o);
    ever |= changed;
  }
  return ever;
}

}  // namespace

std::span<const Pass> passes() { return kPasses; }

void optimize(ir::Model& m, const Options& o) {
  // What a pass made constant lets inference know more dims, and that may let a pass do more.
  for (int i = 0; i < kMostInferences; ++i) {
    onnx::infer(m);
    if (!run(m, o, false)) return;
  }
}

void cleanup(ir::Model& m) { run(m, {}, true); }

}  // namespace oe::optimize
