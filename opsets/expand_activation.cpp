// Activations in simpler operators, for opsets and element types that lack them.
#include "opsets/expand.h"

namespace oe::opsets {

void swish(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const float alpha = n.attributes.get_or<float>("alpha", 1.0f);
  Value gate = alpha == 1.0f ? x : r.op("Mul", {x, r.number(alpha, r.dtype(x))});
  r.bind(n.outputs[0], r.op("Mul", {x, r.op("Sigmoid", {gate})}));
}

void celu(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const float alpha = n.attributes.get_or<float>("alpha", 1.0f);
  if (alpha == 1.0f) return r.bind(n.outputs[0], r.op("Elu", {x}, {{"alpha", 1.0f}}));
  const DType t = r.dtype(x);
  Value zero = r.number(0, t), a = r.number(alpha, t);
  Value grown = r.op("Sub", {r.op("Exp", {r.op("Div", {x, a})}), r.number(1, t)});
  Value low = r.op("Min", {zero, r.op("Mul", {a, grown})});
  r.bind(n.outputs[0], r.op("Add", {r.op("Max", {x, zero}), low}));
}

void relu_as_max(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  r.bind(n.outputs[0], r.op("Max", {x, r.number(0, r.dtype(x))}));
}

void plain_activation(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const DType t = r.dtype(x);
  const auto number = [&](double v) { return r.number(v, t); };
  const auto attribute = [&](std::string_view name, float fallback) {
    return number(n.attributes.get_or<float>(name, fallback));
  };
  const auto add = [&](Value a, Value b) { return r.op("Add", {a, b}); };
  const auto mul = [&](Value a, Value b) { return r.op("Mul", {a, b}); };
  const auto positive = [&] { return r.op("Max", {x, number(0)}); };
  const auto negative = [&] { return r.op("Min", {x, number(0)}); };
  // alpha (exp(min(x, 0)) - 1) + max(x, 0)
  const auto elu = [&](float alpha) {
    Value grown = r.op("Sub", {r.op("Exp", {negative()}), number(1)});
    return add(mul(attribute("alpha", alpha), grown), positive());
  };
  if (r.below() < 8) throw NotExpressible{};  // Max and Min do not broadcast there
  Value y = nullptr;
  if (n.op == "Elu") {
    y = elu(1.0f);
  } else if (n.op == "Selu") {
    y = mul(attribute("gamma", 1.05070102214813232421875f), elu(1.67326319217681884765625f));
  } else if (n.op == "LeakyRelu") {
    y = add(mul(attribute("alpha", 0.01f), negative()), positive());
  } else if (n.op == "PRelu") {
    y = add(mul(n.input(1), negative()), positive());
  } else if (n.op == "HardSigmoid") {
    Value line = add(mul(attribute("alpha", 0.2f), x), attribute("beta", 0.5f));
    y = r.op("Max", {number(0), r.op("Min", {number(1), line})});
  } else if (n.op == "Softplus") {  // max(x, 0) + log(1 + exp(-|x|)) does not overflow
    Value tail = r.op("Exp", {r.op("Neg", {r.op("Abs", {x})})});
    y = add(positive(), r.op("Log", {add(tail, number(1))}));
  } else if (n.op == "Softsign") {
    y = r.op("Div", {x, add(r.op("Abs", {x}), number(1))});
  } else {
    throw NotExpressible{};
  }
  r.bind(n.outputs[0], y);
}

}  // namespace oe::opsets
