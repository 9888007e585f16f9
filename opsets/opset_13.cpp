// Opset 13: softmax along one axis, axes and sizes as inputs, bfloat16.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Below 13 the input is coerced to two dimensions at `axis`, and everything after it is
// normalized together: the same thing only for the last axis.
void along_axis(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const int64_t axis = n.attributes.get_or<int64_t>("axis", -1);
  if (axis == -1 && !x->rank()) {
    n.attributes.set("axis", int64_t{-1});
    return r.keep();
  }
  const int64_t rank = x.rank(), a = wrapped(axis, rank);
  if (rank == 0) {  // of a single element
    T y = node(n.op, {reshape(x, Ints{1})}, {{"axis", int64_t{0}}});
    return r.bind(n.outputs[0], reshape(y, Ints{}));
  }
  bool last = true;
  for (int64_t i = a + 1; i < rank; ++i) last = last && x.dim(i) == 1;
  if (last) {
    n.attributes.set("axis", a);
    return r.keep();
  }
  Ints perm;
  for (int64_t i = 0; i < rank; ++i) perm.push_back(i);
  std::swap(perm[static_cast<size_t>(a)], perm[static_cast<size_t>(rank - 1)]);
  T y = node(n.op, {transpose(x, perm)}, {{"axis", rank - 1}});
  r.bind(n.outputs[0], transpose(y, perm));
}

void split(Rewriter& r, ir::Node& n) {
  T sizes = r.in(1);
  n.inputs.resize(1);
  if (!sizes) return r.keep();
  if (const auto known = ints(sizes)) {
    n.attributes.set("split", *known);
    return r.keep();
  }
  // Computed sizes: one slice for each part.
  const int64_t axis = r.in(0).axis(n.attributes.get_or<int64_t>("axis", 0));
  T start = r.i64(0);
  for (size_t i = 0; i < n.outputs.size(); ++i) {
    T end = start + gather(sizes, r.i64(static_cast<int64_t>(i)), 0);
    if (n.outputs[i]) r.bind(n.outputs[i], slice(r.in(0), axis, start, end));
    start = end;
  }
}

void axes_to_attribute(Rewriter& r, ir::Node& n) {
  T axes = r.in(1);
  n.inputs.resize(1);
  if (axes) {
    const auto known = ints(axes);
    if (!known) throw Unsupported("needs opset 13 or later where the axes are computed");
    n.attributes.set("axes", *known);
  }
  r.keep();
}

// All three inputs have to be given below 13; an empty one says nothing.
void resize(Rewriter& r, ir::Node& n) {
  T none = r.numbers({}, {0}, DType::Float);
  n.inputs.resize(std::max<size_t>(n.inputs.size(), 3));
  if (!n.inputs[1]) n.inputs[1] = none;
  if (!n.inputs[2]) n.inputs[2] = none;
  if (n.inputs.size() == 4 && !n.inputs[3]) n.inputs.pop_back();
  r.keep();
}

// Per-axis scales are new: said by what the operators mean. With one scale for all the axis says
// nothing.
void quantize(Rewriter& r, ir::Node& n) {
  if (r.in(1).rank() != 0)
    return n.op == "QuantizeLinear" ? quantize_linear(r, n) : dequantize_linear(r, n);
  n.attributes.erase("axis");
  r.keep();
}

// Below 13 control flow passes on tensors only.
void tensors_only(Rewriter& r, ir::Node& n) {
  const auto is_sequence = [](const ir::Value* v) {
    return v && v->type.kind == ir::Type::Kind::Sequence;
  };
  if (std::any_of(n.inputs.begin(), n.inputs.end(), is_sequence) ||
      std::any_of(n.outputs.begin(), n.outputs.end(), is_sequence))
    throw Unsupported("needs opset 13 or later to pass a sequence");
  r.keep();
}

constexpr Row rows[] = {
    same("Abs"),
    same("Add"),
    same("ArgMax"),
    same("ArgMin"),
    same("Cast"),
    same("Ceil"),
    same("Clip"),
    same("Concat"),
    same("Constant"),
    same("DepthToSpace"),
    rewrite("DequantizeLinear", quantize),
    same("Div"),
    same("Dropout"),
    same("Equal"),
    same("Erf"),
    same("Exp"),
    same("Expand"),
    same("Flatten"),
    same("Floor"),
    same("Gather"),
    same("GatherElements"),
    same("GatherND"),
    same("Gemm"),
    same("Greater"),
    rewrite("Hardmax", along_axis),
    same("Identity"),
    rewrite("If", tensors_only),
    same("IsNaN"),
    same("LRN"),
    same("Less"),
    same("Log"),
    rewrite("LogSoftmax", along_axis),
    rewrite("Loop", tensors_only),
    same("MatMul"),
    same("Max"),
    same("Mean"),
    same("MeanVarianceNormalization"),
    same("Min"),
    same("Mod"),
    same("Mul"),
    same("Neg"),
    same("NegativeLogLikelihoodLoss"),
    same("NonZero"),
    same("Pad"),
    same("Pow"),
    rewrite("QuantizeLinear", quantize),
    same("Reciprocal"),
    same("ReduceL1"),
    same("ReduceL2"),
    same("ReduceLogSum"),
    same("ReduceLogSumExp"),
    same("ReduceMax"),
    same("ReduceMean"),
    same("ReduceMin"),
    same("ReduceProd"),
    rewrite("ReduceSum", reduce_axes_to_attribute),
    same("ReduceSumSquare"),
    same("Relu"),
    same("Reshape"),
    rewrite("Resize", resize),
    same("ScatterElements"),
    same("ScatterND"),
    same("Shape"),
    same("Sigmoid"),
    same("Sign"),
    same("Size"),
    same("Slice"),
    rewrite("Softmax", along_axis),
    same("SoftmaxCrossEntropyLoss"),
    same("SpaceToDepth"),
    rewrite("Split", split),
    same("Sqrt"),
    rewrite("Squeeze", axes_to_attribute),
    same("Sub"),
    same("Sum"),
    same("Tanh"),
    same("Tile"),
    same("Transpose"),
    rewrite("Unsqueeze", axes_to_attribute),
};

}  // namespace

Rung opset_13() { return rows; }

}  // namespace oe::opsets
