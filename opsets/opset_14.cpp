// Opset 14: training mode of BatchNormalization, batch-first recurrences, Trilu, HardSwish.
#include <algorithm>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// The batch's own statistics, and the running ones moved towards them.
void train_batch(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), mean_in = n.input(3), var_in = n.input(4);
  const DType t = r.dtype(x);
  const int64_t rank = r.rank(x);
  Ints axes = {0}, around;
  for (int64_t a = 2; a < rank; ++a) axes.push_back(a);
  for (int64_t a = 1; a < rank - 1; ++a) around.push_back(a);
  const auto per_channel = [&](Value v) { return around.empty() ? v : r.unsqueeze(v, around); };
  Value mean = r.reduce("ReduceMean", x, axes, true);
  Value centered = r.op("Sub", {x, mean});
  Value variance = r.reduce("ReduceMean", r.op("Mul", {centered, centered}), axes, true);
  Value epsilon = r.number(n.attributes.get_or<float>("epsilon", 1e-5f), t);
  Value normal = r.op("Div", {centered, r.op("Sqrt", {r.op("Add", {variance, epsilon})})});
  Value y = r.op("Mul", {normal, per_channel(n.input(1))});
  r.bind(n.outputs[0], r.op("Add", {y, per_channel(n.input(2))}));

  const float momentum = n.attributes.get_or<float>("momentum", 0.9f);
  const auto running = [&](size_t i, Value old, Value batch) {
    if (i >= n.outputs.size() || !n.outputs[i]) return;
    Value kept = r.op("Mul", {old, r.number(momentum, r.dtype(old))});
    Value flat = r.cast(r.squeeze(batch, axes), r.dtype(old));
    Value moved = r.op("Mul", {flat, r.number(1.0 - momentum, r.dtype(old))});
    r.bind(n.outputs[i], r.op("Add", {kept, moved}));
  };
  running(1, mean_in, mean);
  running(2, var_in, variance);
}

void batch_normalization(Rewriter& r, ir::Node& n) {
  if (n.attributes.get_or<int64_t>("training_mode", 0) != 0) return train_batch(r, n);
  n.attributes.erase("training_mode");
  const DType t = r.dtype(n.input(0));
  for (size_t i = 3; i < 5; ++i) n.inputs[i] = r.cast(n.input(i), t);
  n.outputs.resize(1);
  r.keep();
}

void hard_swish(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  Value gate = r.op("HardSigmoid", {x}, {{"alpha", 1.0f / 6.0f}, {"beta", 0.5f}});
  r.bind(n.outputs[0], r.op("Mul", {x, gate}));
}

// Sequences: putting an element in and taking it out again is the identity.
void identity(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  if (x->type.kind != ir::Type::Kind::Sequence) return r.keep();
  const DType t = x->type.element ? x->type.element->dtype : DType::Undefined;
  Value extra = r.numbers({0}, {1}, t);
  Value longer = r.op("SequenceInsert", {x, extra}, {}, x->type);
  r.bind(n.outputs[0], r.op("SequenceErase", {longer}, {}, x->type));
}

// allowzero: a zero in the shape is a size, not "as in the input".
void reshape(Rewriter& r, ir::Node& n) {
  const bool zero_is_size = n.attributes.get_or<int64_t>("allowzero", 0) != 0;
  n.attributes.erase("allowzero");
  const auto shape = r.ints(n.input(1));
  if (!zero_is_size || (shape && std::find(shape->begin(), shape->end(), 0) == shape->end()))
    return r.keep();
  if (shape) {
    // The result has no elements, so that only its type and shape matter.
    for (int64_t d : *shape)
      if (d < 0) throw NotExpressible{"needs opset 14 or later for a shape with both 0 and -1"};
    r.bind(n.outputs[0], r.full(n.input(1), r.number(0, r.dtype(n.input(0)))));
    return;
  }
  // Computed: the two readings differ for tensors without elements only. There -1 stands for 0, as
  // long as one size alone is 0; ONNX Runtime refuses two.
  const ir::Type sizes = n.input(1)->type;
  Value zero = r.cast(r.op("Equal", {n.input(1), r.i64(0)}), DType::Int64);
  n.inputs[1] = r.op("Sub", {n.input(1), zero}, {}, sizes);
  r.keep();
}

void trilu(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const int64_t rank = r.rank(x);
  const bool upper = n.attributes.get_or<int64_t>("upper", 1) != 0;
  Value k = n.input(1) ? n.input(1) : r.i64(0);
  if (k->rank() != 0) k = r.reshape(k, Ints{});
  Value rows = r.unsqueeze(r.arange(r.size(x, rank - 2)), {1});
  Value columns = r.unsqueeze(r.arange(r.size(x, rank - 1)), {0});
  Value diagonal = r.op("Add", {rows, k});
  // upper keeps column >= row + k, lower column <= row + k
  Value outside = upper ? r.op("Less", {columns, diagonal}) : r.op("Greater", {columns, diagonal});
  r.bind(n.outputs[0], r.op("Where", {outside, r.number(0, r.dtype(x)), x}));
}

void relu(Rewriter& r, ir::Node& n) {
  is_integer(r.dtype(n.input(0))) ? relu_as_max(r, n) : r.keep();
}

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
