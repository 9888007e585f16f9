// Opset 15: ranges of Shape, CastLike, mixed types in BatchNormalization, optionals.
#include <limits>

#include "opsets/rung.h"

namespace oe::opsets {
namespace {

// Scale and statistics may have types of their own: below 15 scale has x's, mean and variance one.
void batch_normalization(Rewriter& r, ir::Node& n) {
  const DType t = r.dtype(n.input(0));
  n.inputs[1] = r.cast(n.input(1), t);
  n.inputs[2] = r.cast(n.input(2), t);
  r.keep();
}

void cast_like(Rewriter& r, ir::Node& n) {
  const DType to = r.dtype(n.input(1));
  if (to == DType::Undefined) throw NotExpressible{};
  r.bind(n.outputs[0], r.op("Cast", {n.input(0)}, {{"to", static_cast<int64_t>(to)}}));
}

void shape(Rewriter& r, ir::Node& n) {
  const auto start = n.attributes.get_or<int64_t>("start", 0);
  const auto* end = n.attributes.get<int64_t>("end");
  const auto stop = end ? *end : std::numeric_limits<int64_t>::max();
  if (start == 0 && !end) {
    n.attributes.erase("start");
    return r.keep();
  }
  Value all = r.op("Shape", {n.input(0)}, {}, r.ranked(DType::Int64, 1));
  r.bind(n.outputs[0], r.slice(all, 0, start, stop));
}

constexpr Row rows[] = {
    rewrite("BatchNormalization", batch_normalization),
    body("Bernoulli"),
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
