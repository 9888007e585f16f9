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
  Value x = n.input(0);
  const int64_t axis = r.wrap(n.attributes.get_or<int64_t>("axis", 0), r.rank(x));
  n.attributes.set("axis", axis);
  n.inputs[0] = r.reverse(x, axis);
  Value out = r.detach(0);
  Value from_end = n.outputs[0];
  r.keep();
  r.bind(out, r.op("Sub", {r.sub(r.size(x, axis), r.i64(1)), from_end}));
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
    n.attributes.set("value", r.data(n.outputs[0]));
  for (const char* name :
       {"value_float", "value_floats", "value_int", "value_ints", "value_string", "value_strings"})
    n.attributes.erase(name);
  r.keep();
}

// Without training the input passes through. With it an element stays where a number in [0, 1) is
// not below the ratio, and makes up for those that go: below 12 the operator only passes through.
void dropout(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), training = n.input(2);
  const auto known = training ? r.scalar(training) : 0.0;
  const auto ratio = n.input(1) ? r.scalar(n.input(1)) : 0.5;
  if (!known || !ratio)
    throw NotExpressible{"needs opset 12 or later for dropout that is switched by the input"};
  const bool wants_mask = n.outputs.size() > 1 && n.outputs[1];
  if (*known == 0 || *ratio == 0) {
    r.bind(n.outputs[0], r.op("Identity", {x}));
    if (wants_mask) r.bind(n.outputs[1], r.full(r.shape(x), r.number(1, DType::Bool)));
    return;
  }
  const DType t = r.dtype(x), drawn = DType::Float;
  Value u = r.op("RandomUniformLike", {r.full(r.shape(x), r.number(0, drawn))},
                 {{"dtype", static_cast<int64_t>(drawn)}}, r.like(x, drawn));
  Value stays = r.op("Not", {r.less(u, r.number(*ratio, drawn))});
  Value kept = r.op("Div", {x, r.number(*ratio < 1 ? 1 - *ratio : 1, t)});
  r.bind(n.outputs[0], r.where(stays, kept, r.number(0, t)));
  if (wants_mask) r.bind(n.outputs[1], r.op("Identity", {stays}));
}

void at_least(Rewriter& r, ir::Node& n) {
  Value a = n.input(0), b = n.input(1);
  if (n.op == "LessOrEqual") std::swap(a, b);
  // NaN is neither, so that the complement of Less serves integers only.
  if (is_integer(r.dtype(a))) return r.bind(n.outputs[0], r.op("Not", {r.less(a, b)}));
  r.bind(n.outputs[0], r.op("Or", {r.less(b, a), r.equal(a, b)}));
}

void clip(Rewriter& r, ir::Node& n) {
  if (!is_integer(r.dtype(n.input(0)))) return r.keep();
  Value y = n.input(0);
  if (n.input(1)) y = r.maximum(y, n.input(1));
  if (n.input(2)) y = r.minimum(y, n.input(2));
  r.bind(n.outputs[0], y);
}

void extreme(Rewriter& r, ir::Node& n) {
  if (!is_integer(r.dtype(n.input(0)))) return r.keep();
  Value y = n.input(0);
  for (size_t i = 1; i < n.inputs.size(); ++i)
    y = n.op == "Max" ? r.maximum(y, n.input(i)) : r.minimum(y, n.input(i));
  r.bind(n.outputs[0], y);
}

void pow(Rewriter& r, ir::Node& n) {
  Value x = n.input(0), y = n.input(1);
  const DType t = r.dtype(x);
  if (!is_integer(t)) {
    n.inputs[1] = r.cast(y, t);
    return r.keep();
  }
  const auto exponent = r.scalar(y);
  if (exponent && is_integer(r.dtype(y)) && *exponent >= 1 && *exponent <= 64 &&
      r.rank(y) <= r.rank(x)) {
    // Square and multiply: wraps around as integers do.
    Value power = x, result = nullptr;
    for (auto e = static_cast<int64_t>(*exponent); e > 0; e /= 2) {
      if (e % 2 == 1) result = result ? r.op("Mul", {result, power}) : power;
      if (e > 1) power = r.op("Mul", {power, power});
    }
    return r.bind(n.outputs[0], result);
  }
  if (byte_size(t) == 8) throw NotExpressible{"needs opset 12 or later for a 64-bit integer power"};
  Value p = r.op("Pow", {r.cast(x, DType::Double), r.cast(y, DType::Double)});
  r.bind(n.outputs[0], r.cast(r.cast(p, DType::Int64), t));
}

// Batch axes become leading coordinates of the indices.
void gather_nd(Rewriter& r, ir::Node& n) {
  const int64_t batch = n.attributes.get_or<int64_t>("batch_dims", 0);
  n.attributes.erase("batch_dims");
  if (batch == 0) return r.keep();
  Value data = n.input(0), indices = n.input(1);
  const int64_t rank = r.rank(indices);
  Value lengths = r.shape(indices);
  Value one_each = r.concat({r.slice(lengths, 0, 0, rank - 1), r.i64s({1})}, 0);
  Values columns;
  for (int64_t a = 0; a < batch; ++a) {
    Ints others;
    for (int64_t i = 0; i < rank; ++i)
      if (i != a) others.push_back(i);
    Value counter = r.unsqueeze(r.arange(r.size(data, a)), others);
    columns.push_back(r.expand(counter, one_each));
  }
  columns.push_back(indices);
  Value tuples = r.concat(columns, rank - 1);
  tuples->type = r.ranked(DType::Int64, rank);
  if (const auto k = r.dim(indices, rank - 1)) tuples->type.shape->back() = Dim::of(batch + *k);
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
