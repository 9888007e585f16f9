// The passes by name, for the command line, which links none of them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace oe::optimize {

// How far the optimizer goes. Each level has the passes of the one before.
enum class Level {
  None,   // what lowering leaves is only made well-formed
  Basic,  // fewer nodes, the same numbers to the bit, weights as the state dict has them
  Full    // weights may change, so that numbers differ by rounding
};

inline constexpr std::array<std::string_view, 3> kLevelNames = {"none", "basic", "full"};

constexpr std::string_view name_of(Level l) { return kLevelNames[static_cast<size_t>(l)]; }

struct PassInfo {
  std::string_view name;
  std::string_view what;  // one line
  Level from;             // the first level that has it
  bool any_opset;         // also right on models of an older opset: part of cleanup()
};

// In the order they run.
inline constexpr std::array kPasses = {
    PassInfo{"constants", "Constant nodes become initializers", Level::None, true},
    PassInfo{"branches", "If with a known condition or equal branches becomes one branch",
             Level::Basic, true},
    PassInfo{"loops",
             "Loop that runs once becomes its body; what no run changes is computed before it",
             Level::Basic, false},
    PassInfo{"noops",
             "nodes that return their input are removed; full: biases of zeros after MatMul too",
             Level::Basic, true},
    PassInfo{"casts", "chains of Cast become one where no value is rounded in between",
             Level::Basic, true},
    PassInfo{"moved_casts",
             "Cast goes before Transpose where a MatMul reads it, which ONNX Runtime can fuse",
             Level::None, true},
    PassInfo{"transposes",
             "Transpose of Transpose becomes one or none, one of axes of size 1 becomes Reshape",
             Level::Basic, true},
    PassInfo{"moved_transposes",
             "Transpose goes where elementwise nodes lead back to one that undoes it", Level::Basic,
             false},
    PassInfo{"pads", "Pad goes into the Conv or pool that reads its result", Level::Basic, false},
    PassInfo{"initial_states", "initial states of zeros of LSTM, GRU and RNN are left out",
             Level::Basic, true},
    PassInfo{"concats", "Concat of Concat along one axis becomes one, empty inputs go",
             Level::Basic, true},
    PassInfo{"slices",
             "Slice of Slice becomes one, Slice, Split and Gather of Concat read its parts, "
             "a Slice that is a result of a Split is that",
             Level::Basic, false},
    PassInfo{"grids", "GatherND at a grid of positions becomes Slice", Level::Basic, false},
    PassInfo{"reshapes", "chains of Reshape, Squeeze, Unsqueeze and Flatten become one or none",
             Level::Basic, false},
    PassInfo{"shapes", "arithmetic on sizes is folded, gathered and copied dims become constants",
             Level::Basic, false},
    PassInfo{"fold", "nodes of constants become initializers, up to the fold limit", Level::Basic,
             false},
    PassInfo{"norms",
             "LayerNormalization and RMSNormalization that a model spells out become one node",
             Level::Full, false},
    PassInfo{"batch_norms",
             "BatchNormalization is folded into the adjacent Conv, ConvTranspose or Gemm",
             Level::Full, false},
    PassInfo{"scales",
             "Mul, Div, Add, Sub by constants of each channel go into Conv, ConvTranspose, Gemm, "
             "MatMul",
             Level::Full, false},
    PassInfo{"gemms", "MatMul and Add of a matrix, or between two Reshapes, become Gemm",
             Level::Full, false},
    PassInfo{"duplicates", "equal nodes with equal inputs become one", Level::Basic, true},
    PassInfo{"initializers", "equal initializers become one", Level::Basic, true},
    PassInfo{"dead_code", "nodes, outputs and initializers that nothing uses are removed",
             Level::None, true},
};

}  // namespace oe::optimize
