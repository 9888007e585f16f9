// Nonlinearities of neural networks, softmax and dropout.
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Integers too, for which ONNX's Relu came late.
Value relu(Emit& g, Value x) {
  if (is_float(g.dtype(x))) return g.node("Relu", {x});
  return pw::unsigned_type(g.dtype(x)) ? x : g.node("Max", {x, pw::num(g, 0, x)});
}

Value clip(Emit& g, Value x, double low, double high) {
  const DType t = g.result_dtype();
  x = g.cast(x, t);
  return g.node("Clip", {x, g.number(low, t), g.number(high, t)});
}

// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)).
Value elu(Emit& g, Value x, double alpha, double scale, double input_scale) {
  return computed(g, x, [&](Value v) {
    const ir::Attributes attributes{{"alpha", static_cast<float>(alpha)}};
    Value y = v;
    if (input_scale == 1) {
      y = g.node("Elu", {v}, attributes);
    } else {
      Value low = pw::mul(g, v, pw::num(g, input_scale, v));
      low = input_scale > 0 ? g.node("Elu", {low}, attributes)
                            : pw::mul(g, pw::expm1(g, low), pw::num(g, alpha, v));
      y = pw::where(g, pw::greater(g, v, pw::num(g, 0, v)), v, low);
    }
    return scale == 1 ? y : pw::mul(g, y, pw::num(g, scale, y));
  });
}

Value celu(Emit& g, Value x, double alpha) { return elu(g, x, alpha, 1, 1 / alpha); }

Value silu(Emit& g, Value x) {
  return computed(g, x, [&](Value v) { return pw::mul(g, v, g.node("Sigmoid", {v})); });
}

Value mish(Emit& g, Value x) {
  return computed(
      g, x, [&](Value v) { return pw::mul(g, v, g.node("Tanh", {g.node("Softplus", {v})})); });
}

Value hardsigmoid(Emit& g, Value x) {
  return g.node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
}
Value hardswish(Emit& g, Value x) {
  return computed(g, x, [&](Value v) { return pw::mul(g, v, hardsigmoid(g, v)); });
}

Value leaky_relu(Emit& g, Value x, double slope) {
  return g.node("LeakyRelu", {x}, {{"alpha", static_cast<float>(slope)}});
}

// One slope for all, or one a channel (axis 1).
Value prelu(Emit& g, Value x, Value weight) {
  const int64_t rank = g.rank(x);
  if (g.rank(weight) > 1) return g.node("PRelu", {x, weight});
  const auto slopes = g.rank(weight) == 0 ? std::optional<int64_t>(1) : g.dim(weight, 0);
  Ints shape(slopes == 1 || rank < 2 ? 1 : static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  if (rank == 0) shape.clear();
  if (g.rank(weight) != static_cast<int64_t>(shape.size()))
    weight = g.node("Reshape", {weight, g.i64s(shape)});
  return g.node("PRelu", {x, weight});
}

Value rrelu(Emit& g, Value x, double lower, double upper, bool training) {
  if (training) throw Unsupported("random slopes in train mode have no counterpart in ONNX");
  return leaky_relu(g, x, (lower + upper) / 2);
}

// log(1 + exp(beta x)) / beta, linear above the threshold.
Value softplus(Emit& g, Value x, double beta, double threshold) {
  return computed(g, x, [&](Value v) {
    Value scaled = beta == 1 ? v : pw::mul(g, v, pw::num(g, beta, v));
    Value y = g.node("Softplus", {scaled});
    if (beta != 1) y = pw::div(g, y, pw::num(g, beta, v));
    // Beyond 20 the difference is under half a unit in the last place of a float32.
    if (threshold >= 20 && g.dtype(v) == DType::Float) return y;
    return pw::where(g, pw::greater(g, scaled, pw::num(g, threshold, v)), v, y);
  });
}

Value softshrink(Emit& g, Value x, double lambd) {
  return pw::sub(g, x, clip(g, x, -lambd, lambd));
}
Value hardshrink(Emit& g, Value x, double lambd) {
  Value small = g.node("LessOrEqual", {pw::abs(g, x), pw::num(g, lambd, x)});
  return pw::where(g, small, pw::num(g, 0, x), x);
}

Value threshold(Emit& g, Value x, double limit, double value) {
  Value low = g.node("LessOrEqual", {x, pw::num(g, limit, x)});
  return pw::where(g, low, pw::num(g, value, x), x);
}

Value glu(Emit& g, Value x, int64_t dim) {
  const Values halves =
      g.nodes("Split", {x}, {{"axis", g.axis(x, dim)}, {"num_outputs", int64_t{2}}}, 2);
  return pw::mul(g, halves[0], g.node("Sigmoid", {halves[1]}));
}

Value log_sigmoid(Emit& g, Value x) {
  return computed(g, x, [&](Value v) { return pw::neg(g, g.node("Softplus", {pw::neg(g, v)})); });
}

// Softmax or LogSoftmax along one axis; a 0-d tensor is a row of one element.
Value softmax(Emit& g, std::string_view op, Value x, int64_t dim) {
  x = g.cast(x, g.result_dtype());
  if (g.rank(x) > 0) return g.node(op, {x}, {{"axis", g.axis(x, dim)}});
  Value row = g.node("Unsqueeze", {x, g.i64s({0})});
  return g.node("Squeeze", {g.node(op, {row}, {{"axis", int64_t{0}}}), g.i64s({0})});
}
template <FixedString Op>
constexpr auto softmax_dtype =
    [](Emit& g, Value x, int64_t dim, Skip) { return softmax(g, Op.view(), x, dim); };

// Inference passes everything on. In train mode ONNX's Dropout draws like ATen's.
Value dropout(Emit& g, Value x, double p, bool train) {
  if (!train || p == 0) return x;
  Value ratio = g.number(p, DType::Float);
  return g.node("Dropout", {x, ratio, g.boolean(true)});
}
// Whole channels, or noise that keeps the mean and variance.
Value special_dropout(Emit&, Value x, double p, bool train) {
  if (train && p != 0) throw Unsupported("this kind of dropout in train mode is not in ONNX");
  return x;
}
Values native_dropout(Emit& g, Value x, double p, std::optional<bool> train) {
  if (train.value_or(true) && p != 0)
    return g.nodes("Dropout", {x, g.number(p, DType::Float), g.boolean(true)}, {}, 2);
  Value mask = g.node("Equal", {g.cast(x, DType::Bool), g.cast(x, DType::Bool)});
  return {x, mask};
}

constexpr Lowering table[] = {
    op<relu>("aten::relu(Tensor self) -> Tensor"),
    op("aten::relu6(Tensor self) -> Tensor", [](Emit& g, Value x) { return clip(g, x, 0, 6); }),
    op<clip>("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"),
    op<elu>(
        "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
    op("aten::selu(Tensor self) -> Tensor", same<"Selu">),
    op<celu>("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor"),
    op("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
       [](Emit& g, Value x, const std::string& approximate) {
         return g.node("Gelu", {x}, {{"approximate", approximate}});
       }),
    op("aten::sigmoid(Tensor self) -> Tensor", same<"Sigmoid">),
    op<silu>("aten::silu(Tensor self) -> Tensor"),
    op<mish>("aten::mish(Tensor self) -> Tensor"),
    op<hardswish>("aten::hardswish(Tensor self) -> Tensor"),
    op<hardsigmoid>("aten::hardsigmoid(Tensor self) -> Tensor"),
    op<leaky_relu>("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"),
    op<prelu>("aten::prelu(Tensor self, Tensor weight) -> Tensor"),
    op<prelu>("aten::_prelu_kernel(Tensor self, Tensor weight) -> Tensor"),
    op<rrelu>("aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool "
              "training=False, Generator? generator=None) -> Tensor"),
    op<softplus>("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"),
    op<softshrink>("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    op<hardshrink>("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    op<threshold>("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"),
    op<glu>("aten::glu(Tensor self, int dim=-1) -> Tensor"),
    op<log_sigmoid>("aten::log_sigmoid(Tensor self) -> Tensor"),
    op("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
       [](Emit& g, Value x) {  // the buffer is for the backward pass
         return Values{log_sigmoid(g, x), nullptr};
       }),
    op("aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       softmax_dtype<"Softmax">),
    op("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
       softmax_dtype<"Softmax">),
    op("aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
       softmax_dtype<"LogSoftmax">),
    op("aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
       softmax_dtype<"LogSoftmax">),
    op<dropout>("aten::dropout(Tensor input, float p, bool train) -> Tensor"),
    op<native_dropout>(
        "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"),
    op<special_dropout>("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor"),
    op<special_dropout>("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor"),
    op<special_dropout>("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor"),
};

}  // namespace

Table activation_rows() { return table; }

}  // namespace oe::lower
