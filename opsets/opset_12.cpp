// Opset 12: integer Max, Min, Clip and Pow, Einsum, Celu, inputs of Dropout.
#include <utility>

#include "opsets/expand.h"
#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// The last of equal extremes is the first one seen from the end.
void arg_extreme(Rewriter& r, ir::Node& n) {
  const bool last = n.attributes.get_or<int64_t>("select_last_index", 0) != 0;
  n.attributes.erase("select_last_index");
  if (!last) return r.keep();
  T x = r.in(0);
  const int64_t axis = x.axis(n.attributes.get_or<int64_t>("axis", 0));
  n.attributes.set("axis", axis);
  n.inputs[0] = reverse(x, axis);
  T out = r.detach(0);
  T from_end = r.at(n.outputs[0]);
  r.keep();
  r.bind(out, size(x, axis) - 1 - from_end);
}

void constant(Rewriter& r, ir::Node& n) {
  if (n.attributes.find("value") || n.attributes.find("sparse_value")) return r.keep();
  if (const auto* s = n.attributes.get<std::string>("value_string"))
    n.attributes.set("value", std::make_shared<const Tensor>(std::vector<int64_t>{},
                                                             std::vector<std::string>{*s}));
  else if (const auto* list = n.attributes.get<ir::Strings>("value_strings"))
    n.attributes.set("value", std::make_shared<const Tensor>(
                                  std::vector<int64_t>{static_cast<int64_t>(list->size())}, *list));
  else
    n.attributes.set("value", content(n.outputs[0]));
  for (const char* name :
       {"value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"})
    n.attributes.erase(name);
  r.keep();
}

// Without training the input passes through. With it an element stays where a number in [0, 1) is
// not below the ratio, and makes up for those that go: below 12 the operator only passes through.
void dropout(Rewriter& r, ir::Node& n) {
  T x = r.in(0), training = r.in(2);
  const auto known = training ? scalar(training) : 0.0;
  const auto ratio = r.in(1) ? scalar(r.in(1)) : 0.5;
  if (!known || !ratio)
    throw Unsupported("needs opset 12 or later for dropout that is switched by the input");
  const bool wants_mask = n.outputs.size() > 1 && n.outputs[1];
  if (*known == 0 || *ratio == 0) {
    r.bind(n.outputs[0], unary("Identity", x));
    if (wants_mask) r.bind(n.outputs[1], full(shape(x), r.number(1, DType::Bool)));
    return;
  }
  const DType drawn = DType::Float;
  T u = node("RandomUniformLike", {full(shape(x), r.number(0, drawn))},
             {{"dtype", static_cast<int64_t>(drawn)}}, like(x, drawn));
  T stays = ~(u < *ratio);
  T kept = x / (*ratio < 1 ? 1 - *ratio : 1);
  r.bind(n.outputs[0], where(stays, kept, 0));
  if (wants_mask) r.bind(n.outputs[1], unary("Identity", stays));
}

void at_least(Rewriter& r, ir::Node& n) {
  T a = r.in(0), b = r.in(1);
  if (n.op == "LessOrEqual") std::swap(a, b);
  // NaN is neither, so that the complement of Less serves integers only.
  if (is_integer(a.dtype())) return r.bind(n.outputs[0], ~(a < b));
  r.bind(n.outputs[0], (b < a) | equal(a, b));
}

void clip(Rewriter& r, ir::Node& n) {
  if (!is_integer(r.in(0).dtype())) return r.keep();
  T y = r.in(0);
  if (r.in(1)) y = maximum(y, r.in(1));
  if (r.in(2)) y = minimum(y, r.in(2));
  r.bind(n.outputs[0], y);
}

void extreme(Rewriter& r, ir::Node& n) {
  if (!is_integer(r.in(0).dtype())) return r.keep();
  T y = r.in(0);
  for (size_t i = 1; i < n.inputs.size(); ++i)
    y = n.op == "Max" ? maximum(y, r.in(i)) : minimum(y, r.in(i));
  r.bind(n.outputs[0], y);
}

void pow(Rewriter& r, ir::Node& n) {
  T x = r.in(0), y = r.in(1);
  const DType t = x.dtype();
  if (!is_integer(t)) {
    n.inputs[1] = cast(y, t);
    return r.keep();
  }
  const auto exponent = scalar(y);
  if (exponent && is_integer(y.dtype()) && *exponent >= 1 && *exponent <= 64 &&
      y.rank() <= x.rank()) {
    // Square and multiply: wraps around as integers do.
    T power = x, result = nullptr;
    for (auto e = static_cast<int64_t>(*exponent); e > 0; e /= 2) {
      if (e % 2 == 1) result = result ? result * power : power;
      if (e > 1) power = power * power;
    }
    return r.bind(n.outputs[0], result);
  }
  if (byte_size(t) == 8) throw Unsupported("needs opset 12 or later for a 64-bit integer power");
  T p = node("Pow", {cast(x, DType::Double), cast(y, DType::Double)});
  r.bind(n.outputs[0], cast(cast(p, DType::Int64), t));
}

// Batch axes become leading coordinates of the indices.
void gather_nd(Rewriter& r, ir::Node& n) {
  const int64_t batch = n.attributes.get_or<int64_t>("batch_dims", 0);
  n.attributes.erase("batch_dims");
  if (batch == 0) return r.keep();
  T data = r.in(0), indices = r.in(1);
  const int64_t rank = indices.rank();
  T lengths = shape(indices);
  T one_each = concat({slice(lengths, 0, known(0), known(rank - 1)), r.i64s({1})}, 0);
  Values columns;
  for (int64_t a = 0; a < batch; ++a) {
    Ints others;
    for (int64_t i = 0; i < rank; ++i)
      if (i != a) others.push_back(i);
    T counter = unsqueeze(arange(size(data, a)), others);
    columns.push_back(expand(counter, one_each));
  }
  columns.push_back(indices);
  T tuples = concat(columns, rank - 1);
  tuples->type = ranked(DType::Int64, rank);
  if (const auto k = indices.dim(rank - 1)) tuples->type.shape->back() = Dim::of(batch + *k);
  n.inputs[1] = tuples;
  r.keep();
}

constexpr Row rows[] = {
    rewrite("ArgMax", arg_extreme),
    rewrite("ArgMin", arg_extreme),
    rewrite("Celu", celu),
    rewrite("Clip", clip),
    rewrite("Constant", constant),
    rewrite("Dropout", dropout),
    rewrite("Einsum", einsum),
    rewrite("GatherND", gather_nd),
    rewrite("GreaterOrEqual", at_least),
    rewrite("LessOrEqual", at_least),
    rewrite("Max", extreme),
    same("MaxPool"),
    rewrite("Min", extreme),
    body("NegativeLogLikelihoodLoss"),
    rewrite("Pow", pow),
    same("ReduceMax"),
    same("ReduceMin"),
    body("SoftmaxCrossEntropyLoss"),
};

}  // namespace

Rung opset_12() { return rows; }

}  // namespace oe::opsets
