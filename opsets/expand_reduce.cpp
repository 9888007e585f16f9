// Sums and products of integers where the runtime's kernels calculate in floats.
#include <algorithm>

#include "opsets/expand.h"

namespace oe::opsets {

namespace {

// The axes that a reduction names, from 0 and ascending; all of them where it names none.
Ints reduced_axes(Rewriter& r, const ir::Node& n) {
  const int64_t rank = r.in(0).rank();
  Ints axes;
  if (const Ints* given = n.attributes.get<Ints>("axes")) axes = *given;
  if (r.in(1)) {
    const auto known = ints(r.in(1));
    if (!known) throw Unsupported("");
    axes = *known;
    if (axes.empty() && n.attributes.get_or<int64_t>("noop_with_empty_axes", 0) != 0)
      throw Unsupported("");
  }
  for (int64_t& a : axes) a = wrapped(a, rank);
  if (axes.empty())
    for (int64_t a = 0; a < rank; ++a) axes.push_back(a);
  std::sort(axes.begin(), axes.end());
  return axes;
}

}  // namespace

void product_in_steps(Rewriter& r, ir::Node& n) {
  constexpr int64_t kUnrolled = 8;
  T x = r.in(0);
  const Ints reduced = reduced_axes(r, n);
  const bool keep = n.attributes.get_or<int64_t>("keepdims", 1) != 0;
  // From the back: the axes in front stay where they are.
  for (int64_t axis : Ints(reduced.rbegin(), reduced.rend())) {
    const auto known = x.dim(axis);
    if (known && *known > 0 && *known <= kUnrolled) {
      T product = gather(x, r.i64(0), axis);
      for (int64_t i = 1; i < *known; ++i) product = product * gather(x, r.i64(i), axis);
      x = product;
      continue;
    }
    Values others;
    for (int64_t a = 0; a < x.rank(); ++a)
      if (a != axis) others.push_back(vector(size(x, a)));
    T one = full(others.empty() ? r.i64s({}) : concat(others, 0), r.number(1, x.dtype()));
    x = r.loop(size(x, axis), {one}, [&](T i, const Values& state) -> Values {
      return {state[0] * gather(x, i, axis)};
    })[0];
  }
  if (keep && !reduced.empty()) x = unsqueeze(x, reduced);
  r.bind(n.outputs[0], x);
}

void log_sum_exp_from_largest(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const Ints axes = reduced_axes(r, n);
  const bool keep = n.attributes.get_or<int64_t>("keepdims", 1) != 0;
  T largest = reduce("ReduceMax", x, axes);
  largest = where(equal(largest - largest, 0.0), largest, 0.0);  // infinite: as it is
  T y = log(reduce("ReduceSum", exp(x - largest), axes, keep));
  r.bind(n.outputs[0], y + (keep ? largest : squeeze(largest, axes)));
}

void sum_of_squares(Rewriter& r, ir::Node& n) {
  T x = r.in(0);
  const bool keep = n.attributes.get_or<int64_t>("keepdims", 1) != 0;
  T y = reduce("ReduceSum", x * x, reduced_axes(r, n), keep);
  r.bind(n.outputs[0], n.op == "ReduceL2" ? sqrt(y) : y);
}

bool small_integers(const ir::Value* v, int depth) {
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
                       [&](const ir::Value* in) { return small_integers(in, depth - 1); });
  return false;
}

void sum_in_halves(Rewriter& r, ir::Node& n) {
  const DType t = r.in(0).dtype();
  const auto sum = [&](T x) {
    Values in = r.at(n.inputs);
    in[0] = x;
    ir::Type type = ir::Type::tensor(DType::Int64, n.outputs[0]->type.shape);
    return node("ReduceSum", in, n.attributes, type);
  };
  T x = r.in(0);
  if (byte_size(t) < 8) {
    r.bind(n.outputs[0],
           node("Cast", {sum(cast(x, DType::Int64))}, {{"to", static_cast<int64_t>(t)}}));
    return;
  }
  if (t != DType::Int64) throw Unsupported("");
  T base = r.i64(int64_t{1} << 32);
  T high = x / base;
  T low = x - high * base;
  r.bind(n.outputs[0], sum(high) * base + sum(low));
}

void global_pool(Rewriter& r, ir::Node& n) {
  r.bind(n.outputs[0], reduce("ReduceMean", r.in(0), range(2, r.in(0).rank()), true));
}

void never_by_zero(Rewriter& r, ir::Node& n) {
  T divisor = r.in(1);
  n.inputs[1] = where(equal(divisor, 0), 1, divisor);
  r.keep();
}

}  // namespace oe::opsets
