// Opset 15: ranges of Shape, CastLike, mixed types in BatchNormalization, optionals.
#include <limits>

#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Scale and statistics may have types of their own: below 15 scale has x's, mean and variance one.
void batch_normalization(Rewriter& r, ir::Node& n) {
  const DType t = r.in(0).dtype();
  n.inputs[1] = cast(r.in(1), t);
  n.inputs[2] = cast(r.in(2), t);
  r.keep();
}

// A number in [0, 1) is below p with probability p. The schema's body asks for the opposite.
void bernoulli(Rewriter& r, ir::Node& n) {
  T p = r.in(0);
  const auto to = n.attributes.get_or<int64_t>("dtype", static_cast<int64_t>(p.dtype()));
  ir::Attributes attributes;
  if (const auto* seed = n.attributes.get<float>("seed")) attributes.set("seed", *seed);
  T u = node("RandomUniformLike", {p}, std::move(attributes), like(p, p.dtype()));
  r.bind(n.outputs[0], cast(u < p, static_cast<DType>(to)));
}

void cast_like(Rewriter& r, ir::Node& n) {
  const DType to = r.in(1).dtype();
  if (to == DType::Undefined) throw Unsupported("");
  r.bind(n.outputs[0], node("Cast", {r.in(0)}, {{"to", static_cast<int64_t>(to)}}));
}

void shape(Rewriter& r, ir::Node& n) {
  const auto start = n.attributes.get_or<int64_t>("start", 0);
  const auto* end = n.attributes.get<int64_t>("end");
  const auto stop = end ? *end : std::numeric_limits<int64_t>::max();
  if (start == 0 && !end) {
    n.attributes.erase("start");
    return r.keep();
  }
  T all = node("Shape", {r.in(0)}, {}, ranked(DType::Int64, 1));
  r.bind(n.outputs[0], slice(all, 0, known(start), known(stop)));
}

constexpr Row rows[] = {
    rewrite("BatchNormalization", batch_normalization),
    rewrite("Bernoulli", bernoulli),
    rewrite("CastLike", cast_like),
    needs("Optional"),
    needs("OptionalGetElement"),
    needs("OptionalHasElement"),
    same("Pow"),
    rewrite("Shape", shape),
};

}  // namespace

Rung opset_15() { return rows; }

}  // namespace oe::opsets
