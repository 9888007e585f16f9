// Nonlinearities of neural networks, softmax and dropout.
#include <algorithm>
#include <cmath>

#include "lib/lower/aten/pointwise.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// Integers too, for which ONNX's Relu came late.
T relu(T x) {
  if (is_float(x.dtype())) return unary("Relu", x);
  return unsigned_type(x.dtype()) ? x : maximum(x, 0);
}

// Attributes are float32, which rounds the numbers that a formula in float64 needs.
bool fits_attribute(T x, double v) {
  return x.dtype() != DType::Double || static_cast<double>(static_cast<float>(v)) == v;
}

// scale * (x > 0 ? x : alpha * (exp(x * input_scale) - 1)).
T elu(T x, double alpha, double scale, double input_scale) {
  const ir::Attributes attributes{{"alpha", static_cast<float>(alpha)}};
  const bool attribute = fits_attribute(x, alpha);
  if (input_scale == 1 && attribute) return node("Elu", {x}, attributes) * scale;
  T low = x * input_scale;
  low = input_scale > 0 && attribute ? node("Elu", {low}, attributes) : expm1(low) * alpha;
  return where(x > 0, x, low) * scale;
}

T selu(T x) {
  if (x.dtype() != DType::Double) return unary("Selu", x);
  return elu(x, 1.6732632423543772848, 1.0507009873554804934, 1);
}

T celu(T x, double alpha) {
  if (!fits_attribute(x, alpha)) return where(x > 0, x, expm1(x / alpha) * alpha);
  return node("Celu", {x}, {{"alpha", static_cast<float>(alpha)}});
}

T sixth_of_line(T x) { return minimum(maximum(x + 3, 0), 6) / 6; }

T hardswish(T x) {
  return x.dtype() == DType::Double ? x * sixth_of_line(x) : unary("HardSwish", x);
}

T hardsigmoid(T x) {
  if (x.dtype() == DType::Double) return sixth_of_line(x);
  return node("HardSigmoid", {x}, {{"alpha", 1.0f / 6}, {"beta", 0.5f}});
}

T leaky_relu(T x, double slope) {
  if (!fits_attribute(x, slope)) return where(x > 0, x, x * slope);
  return node("LeakyRelu", {x}, {{"alpha", static_cast<float>(slope)}});
}

// A number of the call in the element type of `x`; attributes of ONNX are known, this may not be.
T operand(const Scalar& s, T x) { return s.known ? number(s.d, x) : cast(s.computed, x.dtype()); }

T leaky_relu_of(T x, const Scalar& slope) {
  return slope.known ? leaky_relu(x, slope.d) : where(x > 0, x, x * operand(slope, x));
}

// NaN stays.
T hardtanh(T x, const Scalar& low, const Scalar& high) {
  if (low.known && high.known) return clip(x, low.d, high.d);
  const T a = operand(low, x), b = operand(high, x);
  T y = where(x < a, a, x);
  return where(y > b, b, y);
}

// One slope for all, or one a channel (axis 1).
T prelu(T x, T weight) {
  const int64_t rank = x.rank();
  if (weight.rank() > std::max<int64_t>(rank, 1)) return where(x > 0, x, x * weight);
  if (weight.rank() > 1) return node("PRelu", {x, weight});
  const auto slopes = weight.rank() == 0 ? std::optional<int64_t>(1) : weight.dim(0);
  Ints shape(slopes == 1 || rank < 2 ? 1 : static_cast<size_t>(rank - 1), 1);
  shape[0] = -1;
  if (rank == 0) shape.clear();
  if (weight.rank() != static_cast<int64_t>(shape.size())) weight = reshape(weight, shape);
  return node("PRelu", {x, weight});
}

T rrelu(T x, double lower, double upper, bool training) {
  if (!training) return leaky_relu(x, (lower + upper) / 2);
  T slopes = node("RandomUniformLike", {x},
                  {{"dtype", static_cast<int64_t>(DType::Float)},
                   {"low", static_cast<float>(lower)},
                   {"high", static_cast<float>(upper)}});
  return where(x <= 0, x * cast(slopes, x.dtype()), x);
}

// log(1 + exp(beta x)) / beta, linear above the threshold.
T softplus(T x, double beta, double threshold) {
  T scaled = x * beta;
  T y = softplus(scaled) / beta;
  // Beyond 20 the difference is under half a unit in the last place of a float32.
  if (threshold >= 20 && x.dtype() == DType::Float) return y;
  return where(scaled > threshold, x, y);
}

// ONNX's Shrink and ThresholdedRelu make 0 of NaN; ATen keeps it in all three.
T softshrink(T x, double lambd) { return x - clip(x, -lambd, lambd); }

T hardshrink(T x, double lambd) { return where(abs(x) <= lambd, 0, x); }

T threshold(T x, double limit, double value) { return where(x <= limit, value, x); }

T glu(T x, Axis dim) {
  const Values halves = nodes("Split", {x}, {{"axis", dim.value}, {"num_outputs", int64_t{2}}}, 2);
  return halves[0] * sigmoid(halves[1]);
}

T log_sigmoid(T x) { return -softplus(-x); }

// Softmax or LogSoftmax along one axis; a 0-d tensor is a row of one element.
template <FixedString Op>
T softmax(Call& g, T x, Axis dim, Skip) {
  const ir::Attributes axis{{"axis", dim.value}};
  x = cast(x, g.result_dtype());
  return x.rank() > 0 ? node(Op.view(), {x}, axis)
                      : squeeze(node(Op.view(), {unsqueeze(x, {0})}, axis), {0});
}

// Inference passes everything on. In train mode ONNX's Dropout draws like ATen's.
T dropout(Call& g, T x, double p, bool train) {
  if (!train || p == 0) return x;
  T ratio = g.number(p, DType::Float);
  return node("Dropout", {x, ratio, g.boolean(true)});
}
// Zeros with probability p, else ones: one for each element, or for each channel of each example.
T dropout_noise(Call& g, T x, double p, bool channels) {
  Dims shape;
  for (int64_t axis = 0; axis < x.rank(); ++axis)
    shape.push_back(channels && axis > 1 ? known(1) : size_of(x, axis));
  // ONNX Runtime draws Bernoulli's ones with the wrong probability, and a Dropout of constants
  // once.
  T like = g.filled(DType::Float, shape, 0);
  T drawn = node("RandomUniformLike", {like}, {}, like->type);
  return cast(drawn >= p, x.dtype());
}

// Whole channels are dropped.
T feature_dropout(Call& g, T x, double p, bool train) {
  if (!train || p == 0) return x;
  if (p == 1) return x * 0;
  return x * (dropout_noise(g, x, p, true) / (1 - p));
}

// What is dropped gets the value that keeps mean and variance of a SELU.
// https://pytorch.org/docs/stable/generated/torch.nn.AlphaDropout.html
T alpha_dropout(Call& g, T x, double p, bool train, bool channels) {
  if (!train || p == 0) return x;
  if (p == 1) return x * 0;
  constexpr double alpha = 1.7580993408473766;  // -alpha is where a SELU saturates
  const double scale = 1 / std::sqrt((alpha * alpha * p + 1) * (1 - p));
  T noise = dropout_noise(g, x, p, channels);
  return x * (noise * scale) + ((noise - 1) * (alpha * scale) + alpha * scale * p);
}

Values native_dropout(Call& g, T x, double p, std::optional<bool> train) {
  if (train.value_or(true) && p != 0)
    return nodes("Dropout", {x, g.number(p, DType::Float), g.boolean(true)}, {}, 2);
  return {x, equal(to_bool(x), to_bool(x))};
}

constexpr Lowering table[] = {
    op<relu>("aten::relu(Tensor self) -> Tensor"),
    op("aten::relu6(Tensor self) -> Tensor", [](T x) { return clip(x, 0, 6); }),
    op<hardtanh>("aten::hardtanh(Tensor self, Scalar min_val=-1, Scalar max_val=1) -> Tensor"),
    wide<elu>(
        "aten::elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor"),
    op<selu>("aten::selu(Tensor self) -> Tensor"),
    wide<celu>("aten::celu(Tensor self, Scalar alpha=1.) -> Tensor"),
    op("aten::gelu(Tensor self, *, str approximate=\"none\") -> Tensor",
       [](T x, const std::string& approximate) {
         return node("Gelu", {x}, {{"approximate", approximate}});
       }),
    op("aten::sigmoid(Tensor self) -> Tensor", same<"Sigmoid">),
    wide("aten::silu(Tensor self) -> Tensor", [](T x) { return unary("Swish", x); }),
    wide("aten::mish(Tensor self) -> Tensor", [](T x) { return unary("Mish", x); }),
    wide<hardswish>("aten::hardswish(Tensor self) -> Tensor"),
    op<hardsigmoid>("aten::hardsigmoid(Tensor self) -> Tensor"),
    op<leaky_relu_of>("aten::leaky_relu(Tensor self, Scalar negative_slope=0.01) -> Tensor"),
    op<prelu>(names("aten::prelu", "aten::_prelu_kernel"),
              "(Tensor self, Tensor weight) -> Tensor"),
    op<rrelu>(
        "aten::rrelu(Tensor self, Scalar lower=0.125, Scalar upper=0.33333333333333331, bool training=False, Generator? generator=None) -> Tensor"),
    wide<softplus>("aten::softplus(Tensor self, Scalar beta=1, Scalar threshold=20) -> Tensor"),
    op<softshrink>("aten::softshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    op<hardshrink>("aten::hardshrink(Tensor self, Scalar lambd=0.5) -> Tensor"),
    op<threshold>("aten::threshold(Tensor self, Scalar threshold, Scalar value) -> Tensor"),
    op<glu>("aten::glu(Tensor self, int dim=-1) -> Tensor"),
    wide<log_sigmoid>("aten::log_sigmoid(Tensor self) -> Tensor"),
    op("aten::log_sigmoid_forward(Tensor self) -> (Tensor output, Tensor buffer)",
       [](Call& g, T x) {  // the buffer is for the backward pass
         return Values{log_sigmoid(cast(x, compute_type(g.result_dtype()))), nullptr};
       }),
    op<softmax<"Softmax">>(
        "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    op<softmax<"Softmax">>("aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
    op<softmax<"LogSoftmax">>(
        "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor"),
    op<softmax<"LogSoftmax">>(
        "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor"),
    op<dropout>("aten::dropout(Tensor input, float p, bool train) -> Tensor"),
    op<native_dropout>(
        "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)"),
    op<feature_dropout>("aten::feature_dropout(Tensor input, float p, bool train) -> Tensor"),
    op("aten::alpha_dropout(Tensor input, float p, bool train) -> Tensor",
       [](Call& g, T x, double p, bool train) { return alpha_dropout(g, x, p, train, false); }),
    op("aten::feature_alpha_dropout(Tensor input, float p, bool train) -> Tensor",
       [](Call& g, T x, double p, bool train) { return alpha_dropout(g, x, p, train, true); }),
};

}  // namespace

Table activation_rows() { return table; }

}  // namespace oe::lower
