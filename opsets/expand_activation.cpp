// Activations in simpler operators, for opsets and element types that lack them.
#include "opsets/expand.h"

namespace oe::opsets {

void swish(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const float alpha = n.attributes.get_or<float>("alpha", 1.0f);
  T gate = alpha == 1.0f ? x : x * alpha;
  r.bind(n.outputs[0], x * sigmoid(gate));
}

void celu(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const float alpha = n.attributes.get_or<float>("alpha", 1.0f);
  if (alpha == 1.0f) return r.bind(n.outputs[0], node("Elu", {x}, {{"alpha", 1.0f}}));
  T low = x / alpha;
  low = alpha > 0 ? node("Elu", {low}, {{"alpha", alpha}}) : (exp(low) - 1) * alpha;
  r.bind(n.outputs[0], where(x > 0, x, low));
}

void gelu(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const DType t = x.dtype();
  T half_x = x * 0.5, one = r.number(1, t), inner = nullptr;
  if (n.attributes.get_or<std::string>("approximate", "none") == "tanh") {
    // 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3)))
    // A power, as ONNX Runtime's fusion looks for it; its kernel multiplies for 3.
    T cube = t == DType::Float ? node("Pow", {x, r.number(3, t)}) : x * x * x;
    T sum = x + cube * 0.044715;
    inner = tanh(sum * 0.7978845608028654);
  } else {
    // Divided, as ONNX Runtime's fusion looks for it.
    inner = erf(x / 1.4142135623730951);
  }
  r.bind(n.outputs[0], half_x * (inner + one));
}

void relu_as_max(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  r.bind(n.outputs[0], maximum(x, 0));
}

void plain_activation(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const DType t = x.dtype();
  const auto number = [&](double v) { return r.number(v, t); };
  const auto attribute = [&](std::string_view name, float fallback) {
    return number(n.attributes.get_or<float>(name, fallback));
  };
  const auto add = [&](T a, T b) { return a + b; };
  const auto mul = [&](T a, T b) { return a * b; };
  const auto positive = [&] { return maximum(x, number(0)); };
  const auto negative = [&] { return minimum(x, number(0)); };
  // alpha (exp(min(x, 0)) - 1) + max(x, 0)
  const auto elu = [&](float alpha) {
    T grown = exp(negative()) - number(1);
    return add(mul(attribute("alpha", alpha), grown), positive());
  };
  T y = nullptr;
  if (n.op == "Elu") {
    y = elu(1.0f);
  } else if (n.op == "Selu") {
    y = mul(attribute("gamma", 1.05070102214813232421875f), elu(1.67326319217681884765625f));
  } else if (n.op == "LeakyRelu") {
    y = add(mul(attribute("alpha", 0.01f), negative()), positive());
  } else if (n.op == "PRelu") {
    y = add(mul(r.in(1), negative()), positive());
  } else if (n.op == "HardSigmoid") {
    T line = add(mul(attribute("alpha", 0.2f), x), attribute("beta", 0.5f));
    y = maximum(number(0), minimum(number(1), line));
  } else if (n.op == "Softplus") {  // max(x, 0) + log(1 + exp(-|x|)) does not overflow
    T tail = exp(-abs(x));
    y = add(positive(), log(add(tail, number(1))));
  } else if (n.op == "Softsign") {
    y = x / add(abs(x), number(1));
  } else {
    throw Unsupported("");
  }
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
