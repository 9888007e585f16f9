// Opset 9: Where, ConstantOfShape, NonZero, OneHot, Erf, hyperbolic functions, integer compares.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Computed in double: the differences of exponentials cancel near zero, which costs a float
// nothing there. A double would lose digits.
Value in_double(Rewriter& r, Value x) {
  if (r.dtype(x) == DType::Double) throw NotExpressible{};
  return r.cast(x, DType::Double);
}
Value d(Rewriter& r, double v) { return r.number(v, DType::Double); }

void hyperbolic(Rewriter& r, ir::Node& n) {
  Value x = in_double(r, n.input(0)), y = nullptr;
  Value one = d(r, 1), half = d(r, 0.5);
  const auto log = [&](Value v) { return r.op("Log", {v}); };
  if (n.op == "Sinh" || n.op == "Cosh") {
    Value up = r.op("Exp", {x}), down = r.op("Exp", {r.op("Neg", {x})});
    y = r.op("Mul", {r.op(n.op == "Sinh" ? "Sub" : "Add", {up, down}), half});
  } else if (n.op == "Atanh") {
    Value ratio = r.op("Div", {r.op("Add", {one, x}), r.op("Sub", {one, x})});
    y = r.op("Mul", {log(ratio), half});
  } else if (n.op == "Acosh") {
    Value root = r.op("Sqrt", {r.op("Sub", {r.op("Mul", {x, x}), one})});
    y = log(r.op("Add", {x, root}));
  } else {  // Asinh, odd: sign(x) log(|x| + sqrt(x^2 + 1))
    Value a = r.op("Abs", {x});
    Value root = r.op("Sqrt", {r.op("Add", {r.op("Mul", {a, a}), one})});
    Value sign = r.op("Sub", {r.cast(r.op("Greater", {x, d(r, 0)}), DType::Double),
                              r.cast(r.op("Less", {x, d(r, 0)}), DType::Double)});
    y = r.op("Mul", {log(r.op("Add", {a, root})), sign});
  }
  r.bind(n.outputs[0], r.cast(y, r.dtype(n.input(0))));
}

// Constants of other types than float become initializers, which have no such limit.
void constant(Rewriter& r, ir::Node& n) {
  const TensorPtr t = r.data(n.outputs[0]);
  if (!t || t->dtype() == DType::String) throw NotExpressible{};
  if (t->dtype() == DType::Float || t->dtype() == DType::Double || t->dtype() == DType::Float16)
    return r.keep();
  r.bind(n.outputs[0], r.constant(t));
}

void constant_of_shape(Rewriter& r, ir::Node& n) {
  const auto* t = n.attributes.get<TensorPtr>("value");
  Value value = t ? r.constant(Tensor::from_bytes((*t)->dtype(), {}, (*t)->data(), (*t)->nbytes()))
                  : r.number(0, DType::Float);
  r.bind(n.outputs[0], r.full(n.input(0), value));
}

void eye_like(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const auto to =
      static_cast<DType>(n.attributes.get_or<int64_t>("dtype", static_cast<int64_t>(r.dtype(x))));
  Value rows = r.unsqueeze(r.arange(r.size(x, 0)), {1});
  Value columns = r.unsqueeze(r.arange(r.size(x, 1)), {0});
  Value diagonal = r.op("Add", {rows, r.i64(n.attributes.get_or<int64_t>("k", 0))});
  r.bind(n.outputs[0], r.cast(r.equal(diagonal, columns), to));
}

void flatten(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  if (is_float(r.dtype(x))) return r.keep();
  const int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
  if (axis <= 1) return r.bind(n.outputs[0], r.reshape(x, axis == 0 ? Ints{1, -1} : Ints{0, -1}));
  Value rows = r.vector(r.size(x, 0));
  for (int64_t a = 1; a < axis; ++a) rows = r.mul(rows, r.vector(r.size(x, a)));
  r.bind(n.outputs[0], r.reshape(x, r.concat({rows, r.i64s({-1})}, 0), 2));
}

void floats_only(Rewriter& r, ir::Node& n) {
  const DType t = r.dtype(n.input(0));
  if (is_integer(t))
    throw NotExpressible{"needs opset 9 or later for element type " + std::string(oe::name(t))};
  r.keep();
}

void compare(Rewriter& r, ir::Node& n) {
  Value a = n.input(0), b = n.input(1);
  if (!is_integer(r.dtype(a))) return r.keep();
  r.bind(n.outputs[0], n.op == "Less" ? r.less(a, b) : r.less(b, a));
}

void is_nan(Rewriter& r, ir::Node& n) { r.bind(n.outputs[0], r.is_nan(n.input(0))); }

// (x - E[x]) / (sqrt(E[x^2] - E[x]^2) + 1e-9), as the specification has it.
void mean_variance_normalization(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const auto axes = n.attributes.get_or<Ints>("axes", {0, 2, 3});
  Value mean = r.reduce("ReduceMean", x, axes, true);
  Value square = r.reduce("ReduceMean", r.op("Mul", {x, x}), axes, true);
  Value deviation = r.op("Sqrt", {r.op("Sub", {square, r.op("Mul", {mean, mean})})});
  Value divisor = r.op("Add", {deviation, r.number(1e-9, r.dtype(x))});
  r.bind(n.outputs[0], r.op("Div", {r.op("Sub", {x, mean}), divisor}));
}

// Of a vector that is nonzero everywhere it counts the elements; anything else needs opset 9.
void non_zero(Rewriter& r, ir::Node& n) {
  const ir::Node* made = n.input(0)->producer;
  const TensorPtr fill = made && made->is("Expand") ? r.data(made->input(0)) : nullptr;
  if (!fill || fill->numel() != 1 || fill->as_double()[0] == 0 || r.rank(n.input(0)) != 1)
    throw NotExpressible{};
  r.bind(n.outputs[0], r.unsqueeze(r.arange(r.size(n.input(0), 0)), {0}));
}

void shrink(Rewriter& r, ir::Node& n) {
  Value x = n.input(0);
  const DType t = r.dtype(x);
  const float bias = n.attributes.get_or<float>("bias", 0.0f);
  const float lambda = n.attributes.get_or<float>("lambd", 0.5f);
  Value low = r.less(x, r.number(-lambda, t)), high = r.greater(x, r.number(lambda, t));
  Value inner = r.where(high, r.op("Sub", {x, r.number(bias, t)}), r.number(0, t));
  r.bind(n.outputs[0], r.where(low, r.op("Add", {x, r.number(bias, t)}), inner));
}

void sign(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), zero = r.number(0, r.dtype(x));
  const DType t = r.dtype(x);
  Value above = r.cast(r.less(zero, x), t), below = r.cast(r.less(x, zero), t);
  r.bind(n.outputs[0], r.op("Sub", {above, below}));
}

void upsample(Rewriter& r, ir::Node& n) {
  const TensorPtr scales = r.data(n.input(1));
  if (!scales) throw NotExpressible{"needs opset 9 or later where the scales are computed"};
  ir::Floats values;
  for (double s : scales->as_double()) values.push_back(static_cast<float>(s));
  n.inputs.resize(1);
  n.attributes.set("scales", std::move(values));
  r.keep();
}

void where(Rewriter& r, ir::Node& n) {
  r.bind(n.outputs[0], r.where(n.input(0), n.input(1), n.input(2)));
}

constexpr Row rows[] = {
    rewrite("Acosh", hyperbolic),
    rewrite("Asinh", hyperbolic),
    rewrite("Atanh", hyperbolic),
    same("BatchNormalization"),
    same("Cast"),
    needs("Compress"),
    rewrite("Constant", constant),
    rewrite("ConstantOfShape", constant_of_shape),
    rewrite("Cosh", hyperbolic),
    needs("Erf"),
    rewrite("EyeLike", eye_like),
    rewrite("Flatten", flatten),
    rewrite("Gemm", floats_only),
    rewrite("Greater", compare),
    rewrite("IsNaN", is_nan),
    rewrite("Less", compare),
    rewrite("MatMul", floats_only),
    needs("MaxUnpool"),
    rewrite("MeanVarianceNormalization", mean_variance_normalization),
    rewrite("NonZero", non_zero),
    rewrite("OneHot", one_hot_by_compare),
    rewrite("PRelu", floats_only),
    needs("Scan"),
    needs("Scatter"),
    rewrite("Shrink", shrink),
    rewrite("Sign", sign),
    rewrite("Sinh", hyperbolic),
    needs("TfIdfVectorizer"),
    rewrite("Upsample", upsample),
    rewrite("Where", where),
};

}  // namespace

Rung opset_09() { return rows; }

}  // namespace oe::opsets
