// The passes, one function a file. Each returns whether it changed the model.
#pragma once

#include "lib/optimize/optimize.h"

namespace oe::optimize {

// Dims that arithmetic on sizes shows to be numbers, which ONNX's inference cannot see.
// size_arithmetic.cpp; before the passes, and not one of them: it changes types only.
bool infer_sizes(ir::Model& m);

// Takes out the Identity nodes that state the rank of a value in one branch. noops.cpp; part of
// finish(), and not a pass.
void remove_rank_statements(ir::Model& m);

bool constants_to_initializers(ir::Model& m, const Options& o);  // constants.cpp
bool inline_branches(ir::Model& m, const Options& o);            // branches.cpp
bool simplify_loops(ir::Model& m, const Options& o);             // loops.cpp
bool remove_noops(ir::Model& m, const Options& o);               // noops.cpp
bool merge_casts(ir::Model& m, const Options& o);                // casts.cpp
bool move_casts(ir::Model& m, const Options& o);                 // moved_casts.cpp
bool merge_transposes(ir::Model& m, const Options& o);           // transposes.cpp
bool move_transposes(ir::Model& m, const Options& o);            // moved_transposes.cpp
bool merge_pads(ir::Model& m, const Options& o);                 // pads.cpp
bool drop_initial_states(ir::Model& m, const Options& o);        // initial_states.cpp
bool merge_concats(ir::Model& m, const Options& o);              // concats.cpp
bool merge_slices(ir::Model& m, const Options& o);               // slices.cpp
bool slice_grids(ir::Model& m, const Options& o);                // grids.cpp
bool merge_reshapes(ir::Model& m, const Options& o);             // reshapes.cpp
bool simplify_shapes(ir::Model& m, const Options& o);            // shapes.cpp
bool merge_norms(ir::Model& m, const Options& o);                // norms.cpp
bool fold_batch_norms(ir::Model& m, const Options& o);           // batch_norms.cpp
bool fold_scales(ir::Model& m, const Options& o);                // scales.cpp
bool merge_gemms(ir::Model& m, const Options& o);                // gemms.cpp
bool fold_constants(ir::Model& m, const Options& o);             // fold.cpp
bool remove_duplicates(ir::Model& m, const Options& o);          // duplicates.cpp
bool share_initializers(ir::Model& m, const Options& o);         // initializers.cpp
bool remove_dead_code(ir::Model& m, const Options& o);           // dead_code.cpp

}  // namespace oe::optimize
