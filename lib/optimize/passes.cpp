// The passes and the rounds they run in.
#include "lib/optimize/passes.h"

#include <algorithm>
#include <array>

#include "lib/onnx/onnx.h"

namespace oe::optimize {
namespace {

using Run = bool (*)(ir::Model&, const Options&);  // one linear walk; whether it changed anything

// One a row of kPasses.
constexpr std::array<Run, kPasses.size()> kRuns = {
    constants_to_initializers,
    inline_branches,
    simplify_loops,
    remove_noops,
    merge_casts,
    move_casts,
    merge_transposes,
    move_transposes,
    merge_pads,
    drop_initial_states,
    merge_concats,
    merge_slices,
    slice_grids,
    merge_reshapes,
    simplify_shapes,
    fold_constants,
    merge_norms,
    fold_batch_norms,
    fold_scales,
    merge_gemms,
    remove_duplicates,
    share_initializers,
    remove_dead_code,
};

// A round is one linear walk a pass. Real models settle in two to four; the bounds keep the stage
// linear whatever the model.
constexpr int kMostRounds = 16;
constexpr int kMostInferences = 4;

bool is_enabled(const PassInfo& p, const Options& o) {
  return p.from <= o.level && std::ranges::find(o.disabled, p.name) == o.disabled.end();
}

bool run(ir::Model& m, const Options& o, bool any_opset_only, const OnChange& on_change) {
  bool changed = true, ever = false;
  for (int round = 0; changed && round < kMostRounds; ++round) {
    changed = false;
    for (size_t i = 0; i < kPasses.size(); ++i) {
      const PassInfo& p = kPasses[i];
      if ((any_opset_only && !p.any_opset) || !is_enabled(p, o) || !kRuns[i](m, o)) continue;
      changed = true;
      if (on_change) on_change(p.name, m);
    }
    ever |= changed;
  }
  return ever;
}

}  // namespace

void optimize(ir::Model& m, const Options& o, const OnChange& on_change) {
  // What a pass made constant lets inference know more dims, and that may let a pass do more.
  for (int i = 0; i < kMostInferences; ++i) {
    onnx::infer(m);
    infer_sizes(m);
    if (!run(m, o, false, on_change)) return;
  }
}

void cleanup(ir::Model& m, const Options& o) { run(m, o, true, {}); }

void finish(ir::Model& m, const Options& o) {
  cleanup(m, o);
  if (o.level != Level::None) remove_rank_statements(m);
}

}  // namespace oe::optimize
