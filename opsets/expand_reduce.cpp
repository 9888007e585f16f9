// Sums and products of integers where the runtime's kernels calculate in floats.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {

void product_in_steps(Rewriter& r, ir::Node& n) {
  constexpr int64_t kUnrolled = 8;
  Value x = n.input(0);
  const int64_t rank = r.rank(x);
  Ints axes;
  if (const Ints* given = n.attributes.get<Ints>("axes")) axes = *given;
  if (n.input(1)) {
    const auto known = r.ints(n.input(1));
    if (!known) throw NotExpressible{};
    axes = *known;
    if (axes.empty() && n.attributes.get_or<int64_t>("noop_with_empty_axes", 0) != 0)
      throw NotExpressible{};
  }
  for (int64_t& a : axes) a = r.wrap(a, rank);
  if (axes.empty())
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
  const bool keep = n.attributes.get_or<int64_t>("keepdims", 1) != 0;
  std::sort(axes.rbegin(), axes.rend());  // from the back: the axes in front stay where they are
  const Ints reduced(axes.rbegin(), axes.rend());
  for (int64_t axis : axes) {
    const auto size = r.dim(x, axis);
    if (size && *size > 0 && *size <= kUnrolled) {
      Value product = r.gather(x, r.i64(0), axis);
      for (int64_t i = 1; i < *size; ++i)
        product = r.op("Mul", {product, r.gather(x, r.i64(i), axis)});
      x = product;
      continue;
    }
    Values others;
    for (int64_t a = 0; a < r.rank(x); ++a)
      if (a != axis) others.push_back(r.vector(r.size(x, a)));
    Value one = r.full(others.empty() ? r.i64s({}) : r.concat(others, 0), r.number(1, r.dtype(x)));
    x = r.loop(r.size(x, axis), {one}, [&](Value i, const Values& state) -> Values {
      return {r.op("Mul", {state[0], r.gather(x, i, axis)})};
    })[0];
  }
  if (keep && !reduced.empty()) x = r.unsqueeze(x, reduced);
  r.bind(n.outputs[0], x);
}

bool small_integers(Value v, int depth) {
  if (v->data) {
    const auto values = v->data->as_int64();
    return std::all_of(values.begin(), values.end(),
                       [](int64_t i) { return i >= INT32_MIN && i <= INT32_MAX; });
  }
  const ir::Node* n = v->producer;
  if (!n || !n->domain.empty() || depth == 0) return false;
  const auto is_one_of = [&](std::initializer_list<std::string_view> ops) {
    return std::find(ops.begin(), ops.end(), n->op) != ops.end();
  };
  if (is_one_of({"Shape", "Size", "NonZero", "ArgMax", "ArgMin"})) return true;
  if (n->op == "Cast") {
    const DType from = n->input(0)->type.dtype;
    return from == DType::Bool || (is_integer(from) && byte_size(from) <= 4);
  }
  if (is_one_of({"Gather", "Slice", "Reshape", "Transpose", "Squeeze", "Unsqueeze", "Expand",
                 "Identity", "Flatten", "Split"}))
    return small_integers(n->input(0), depth - 1);
  if (n->op == "Where")
    return small_integers(n->input(1), depth - 1) && small_integers(n->input(2), depth - 1);
  if (is_one_of({"Concat", "Min", "Max"}))
    return std::all_of(n->inputs.begin(), n->inputs.end(),
                       [&](Value in) { return small_integers(in, depth - 1); });
  return false;
}

void sum_in_halves(Rewriter& r, ir::Node& n) {
  const DType t = r.dtype(n.input(0));
  const auto sum = [&](Value x) {
    Values in = n.inputs;
    in[0] = x;
    ir::Type type = ir::Type::tensor(DType::Int64, n.outputs[0]->type.shape);
    return r.op("ReduceSum", in, n.attributes, type);
  };
  Value x = n.input(0);
  if (byte_size(t) < 8) {
    r.bind(n.outputs[0],
           r.op("Cast", {sum(r.cast(x, DType::Int64))}, {{"to", static_cast<int64_t>(t)}}));
    return;
  }
  if (t != DType::Int64) throw NotExpressible{};
  Value base = r.i64(int64_t{1} << 32);
  Value high = r.op("Div", {x, base});
  Value low = r.op("Sub", {x, r.op("Mul", {high, base})});
  r.bind(n.outputs[0], r.op("Add", {r.op("Mul", {sum(high), base}), sum(low)}));
}

void never_by_zero(Rewriter& r, ir::Node& n) {
  Value divisor = n.inputs[1];
  const DType t = Rewriter::dtype(divisor);
  n.inputs[1] = r.where(r.equal(divisor, r.number(0, t)), r.number(1, t), divisor);
  r.keep();
}

}  // namespace oe::opsets
