// What capture knows of each LibTorch operator: effect, out-of-place twin, how its axes come about.
#pragma once

#include <torch/csrc/jit/runtime/operator.h>

#include <string>
#include <vector>

namespace oe::capture {

// Where the axes of a result come from. Rules for single families are in axes.cpp.
enum class AxisRule {
  Structural,  // broadcast of the tensor inputs, or the axes of the first one; else unknown
  First,       // the axes of the first argument
  Other,       // the axes of argument `other`
  Convolution,
  Pool,  // trailing axes follow the input's, the leading ones are copied
  Linear,
  MatMul,
  Attention,
  Masked,  // the first two arguments are broadcast
  Reduce,  // argument `dim`, `keepdim`
  Sizes,   // an int[] argument lists the axes (view, expand, zeros, ...)
  Cat,
  Stack,
  Slice,  // also narrow
  Select,
  Unsqueeze,
  Squeeze,
  Permute,  // transpose, t, permute, movedim: found by labelling the axes
  Flatten,
  Split,  // unbind, split, chunk, ...
  Embedding,
  Index,  // index.Tensor
  IndexSelect,
  Gather,     // the index's axes
  Recurrent,  // lstm, gru, rnn
  Cell,       // one step of these: the state keeps its size
  Resize,     // upsample_*, interpolate
  AdaptivePool,
  Patches,  // im2col, col2im
  Bags,     // embedding_bag
  Pad,
  PixelShuffle,
  Repeat,
  Along,  // the first argument's axes, but the one of argument `dim` has a size of its own
  Einsum,
  DataSized,  // nonzero, masked_select, unique, ...: sizes born from data
};

struct OpInfo {
  const torch::jit::Operator* op = nullptr;  // owned by LibTorch's registry
  const c10::FunctionSchema* schema = nullptr;
  std::string name;  // with overload: "aten::add.Tensor"
  std::string base;  // without: "aten::add"
  AxisRule rule = AxisRule::Structural;
  bool pointwise = false;          // by LibTorch's tag: the result is the broadcast of the inputs
  bool random = false;             // draws random numbers
  int written = -1;                // index of the argument an in-place operator writes; -1: none
  int outs = 0;                    // number of trailing out= arguments
  bool metadata_in_place = false;  // unsqueeze_, t_, ...: changes the view, not the elements
  const OpInfo* twin = nullptr;    // the functional operator that gives the new values
  // For each parameter of the twin the argument it gets, -1: its default. Empty: one by one.
  std::vector<int> twin_arguments;
};

// Cached by operator; the reference stays valid. Throws Failure(Unsupported) for unknown names.
const OpInfo& op_info(const torch::jit::Operator& op);
const OpInfo& op_named(const std::string& name_with_overload);

// Whether a result of the operator (named without overload) is a view by the operator's meaning.
bool is_view_operator(const std::string& base);

}  // namespace oe::capture
