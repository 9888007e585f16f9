// Opset 14: training mode of BatchNormalization, batch-first recurrences, Trilu, HardSwish.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

void batch_normalization(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<int64_t>("training_mode", 0) != 0) return expand_batch_training(r, n);
  n.attributes.erase("training_mode");
  const DType t = r.in(0).dtype();
  for (size_t i = 3; i < 5; ++i) n.inputs[i] = cast(r.in(i), t);
  n.outputs.resize(1);
  r.keep();
}

void hard_swish(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  T gate = node("HardSigmoid", {x}, {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
  r.bind(n.outputs[0], x * gate);
}

// Sequences: putting an element in and taking it out again is the identity. Each time another one,
// else two outputs of the model that are one sequence would become one value again.
void identity(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  if (x->type.kind != ir::Type::Kind::Sequence) return r.keep();
  const DType t = x->type.element ? x->type.element->dtype : DType::Undefined;
  const int64_t size = ++r.context().copied_sequences;
  T extra = r.numbers(std::vector<double>(static_cast<size_t>(size)), {size}, t);
  T longer = node("SequenceInsert", {x, extra}, {}, x->type);
  r.bind(n.outputs[0], node("SequenceErase", {longer}, {}, x->type));
}

// allowzero: a zero in the shape is a size, not "as in the input".
void reshape(Rewriter& r, ir::Node& n) {
  const bool zero_is_size = n.attributes.get_or<int64_t>("allowzero", 0) != 0;
  n.attributes.erase("allowzero");
  const auto shape = ints(r.in(1));
  if (!zero_is_size || (shape && std::find(shape->begin(), shape->end(), 0) == shape->end()))
    return r.keep();
  if (shape) {
    // The result has no elements, so that only its type and shape matter.
    for (int64_t d : *shape)
      if (d < 0) throw Unsupported("needs opset 14 or later for a shape with both 0 and -1");
    r.bind(n.outputs[0], full(r.in(1), r.number(0, r.in(0).dtype())));
    return;
  }
  // Computed: the two readings differ for tensors without elements only. ONNX Runtime refuses two
  // sizes of 0.
  n.inputs[1] = shape_with_zero(r.in(1));
  r.keep();
}

void trilu(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const int64_t rank = x.rank();
  const bool upper = n.attributes.get_or<int64_t>("upper", 1) != 0;
  T k = r.in(1) ? r.in(1) : r.i64(0);
  if (k->rank() != 0) k = reshape(k, Ints{});
  T rows = unsqueeze(arange(size(x, rank - 2)), {1});
  T columns = unsqueeze(arange(size(x, rank - 1)), {0});
  T diagonal = rows + k;
  // upper keeps column >= row + k, lower column <= row + k
  T outside = upper ? columns < diagonal : columns > diagonal;
  r.bind(n.outputs[0], where(outside, 0, x));
}

void relu(Rewriter& r, ir::Node& n) { is_integer(r.in(0).dtype()) ? relu_as_max(r, n) : r.keep(); }

constexpr Row rows[] = {
    same("Add"),
    rewrite("BatchNormalization", batch_normalization),
    same("CumSum"),
    same("Div"),
    rewrite("GRU", time_first),
    rewrite("HardSwish", hard_swish),
    rewrite("Identity", identity),
    rewrite("LSTM", time_first),
    same("Mul"),
    rewrite("RNN", time_first),
    rewrite("Relu", relu),
    rewrite("Reshape", reshape),
    same("Sub"),
    rewrite("Trilu", trilu),
};

}  // namespace

Rung opset_14() { return rows; }

}  // namespace oe::opsets
