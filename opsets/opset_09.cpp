// Opset 9: Where, ConstantOfShape, NonZero, OneHot, Erf, hyperbolic functions, integer compares.
#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Computed in double: the differences of exponentials cancel near zero, which costs a float
// nothing there. A double would lose digits.
T in_double(T x) {
  if (x.dtype() == DType::Double) throw Unsupported("");
  return cast(x, DType::Double);
}
T d(Rewriter& r, double v) { return r.number(v, DType::Double); }

void hyperbolic(Rewriter& r, ir::Node& n) {
  T x = in_double(r.in(0)), y = nullptr;
  T one = d(r, 1), half = d(r, 0.5);
  if (n.op == "Sinh" || n.op == "Cosh") {
    T up = exp(x), down = exp(-x);
    y = node(n.op == "Sinh" ? "Sub" : "Add", {up, down}) * half;
  } else if (n.op == "Atanh") {
    T ratio = (one + x) / (one - x);
    y = log(ratio) * half;
  } else if (n.op == "Acosh") {
    T root = sqrt(x * x - one);
    y = log(x + root);
  } else {  // Asinh, odd: sign(x) log(|x| + sqrt(x^2 + 1))
    T a = abs(x);
    T root = sqrt(a * a + one);
    T sign = cast(x > d(r, 0), DType::Double) - cast(x < d(r, 0), DType::Double);
    y = log(a + root) * sign;
  }
  r.bind(n.outputs[0], cast(y, r.in(0).dtype()));
}

// Constants of other types than float become initializers, which have no such limit.
void constant(Rewriter& r, ir::Node& n) {
  const TensorPtr t = content(n.outputs[0]);
  if (!t || t->dtype() == DType::String) throw Unsupported("");
  if (t->dtype() == DType::Float || t->dtype() == DType::Double || t->dtype() == DType::Float16)
    return r.keep();
  r.bind(n.outputs[0], r.tensor(t));
}

void constant_of_shape(Rewriter& r, ir::Node& n) {
  const auto* t = n.attributes.get<TensorPtr>("value");
  T value = t ? r.tensor(Tensor::from_bytes((*t)->dtype(), {}, (*t)->data(), (*t)->nbytes()))
              : r.number(0, DType::Float);
  r.bind(n.outputs[0], full(r.in(0), value));
}

void eye_like(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const auto to =
      static_cast<DType>(n.attributes.get_or<int64_t>("dtype", static_cast<int64_t>(x.dtype())));
  T rows = unsqueeze(arange(size(x, 0)), {1});
  T columns = unsqueeze(arange(size(x, 1)), {0});
  T diagonal = rows + n.attributes.get_or<int64_t>("k", 0);
  r.bind(n.outputs[0], cast(equal(diagonal, columns), to));
}

void flatten(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  if (is_float(x.dtype())) return r.keep();
  const int64_t axis = n.attributes.get_or<int64_t>("axis", 1);
  if (axis <= 1) return r.bind(n.outputs[0], reshape(x, axis == 0 ? Ints{1, -1} : Ints{0, -1}));
  T rows = vector(size(x, 0));
  for (int64_t a = 1; a < axis; ++a) rows = rows * vector(size(x, a));
  r.bind(n.outputs[0], reshape(x, concat({rows, r.i64s({-1})}, 0), 2));
}

void floats_only(Rewriter& r, ir::Node&) {
  const DType t = r.in(0).dtype();
  if (is_integer(t))
    throw Unsupported("needs opset 9 or later for element type " + std::string(oe::name(t)));
  r.keep();
}

void compare(Rewriter& r, ir::Node& n) {
  T a = r.in(0), b = r.in(1);
  if (!is_integer(a.dtype())) return r.keep();
  r.bind(n.outputs[0], n.op == "Less" ? a < b : b < a);
}

void is_nan(Rewriter& r, ir::Node& n) { r.bind(n.outputs[0], is_nan(r.in(0))); }

// (x - E[x]) / (sqrt(E[x^2] - E[x]^2) + 1e-9), as the specification has it.
void mean_variance_normalization(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const auto axes = n.attributes.get_or<Ints>("axes", {0, 2, 3});
  T mean = reduce("ReduceMean", x, axes, true);
  T square = reduce("ReduceMean", x * x, axes, true);
  T deviation = sqrt(square - mean * mean);
  T divisor = deviation + 1e-9;
  r.bind(n.outputs[0], (x - mean) / divisor);
}

// Of a vector that is nonzero everywhere it counts the elements; anything else needs opset 9.
void non_zero(Rewriter& r, ir::Node& n) {
  const ir::Node* made = r.in(0)->producer;
  const TensorPtr fill = made && made->is("Expand") ? content(made->input(0)) : nullptr;
  if (!fill || fill->numel() != 1 || fill->as_double()[0] == 0 || r.in(0).rank() != 1)
    throw Unsupported("");
  r.bind(n.outputs[0], unsqueeze(arange(size(r.in(0), 0)), {0}));
}

void shrink(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const float bias = n.attributes.get_or<float>("bias", 0.0f);
  const float lambda = n.attributes.get_or<float>("lambd", 0.5f);
  T low = x<-lambda, high = x> lambda;
  T inner = where(high, x - bias, 0);
  r.bind(n.outputs[0], where(low, x + bias, inner));
}

void sign(Rewriter& r, ir::Node& n) {
  T x = r.in(0), zero = r.number(0, x.dtype());
  const DType t = x.dtype();
  T above = cast(zero < x, t), below = cast(x < zero, t);
  r.bind(n.outputs[0], above - below);
}

void upsample(Rewriter& r, ir::Node& n) {
  const TensorPtr scales = content(r.in(1));
  if (!scales) throw Unsupported("needs opset 9 or later where the scales are computed");
  ir::Floats values;
  for (double s : scales->as_double()) values.push_back(static_cast<float>(s));
  n.inputs.resize(1);
  n.attributes.set("scales", std::move(values));
  r.keep();
}

void where(Rewriter& r, ir::Node& n) { r.bind(n.outputs[0], where(r.in(0), r.in(1), r.in(2))); }

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
    rewrite("Scan", scan_as_loop),
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
