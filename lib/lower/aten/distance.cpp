// Distances and similarities between vectors.
#include <cmath>

#include "lib/lower/aten/nn_build.h"
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// The p-norm of `x` over one axis.
Value norm(Emit& g, Value x, double p, int64_t axis, bool keepdims) {
  if (p == 2) return reduce(g, "ReduceL2", x, {axis}, keepdims);
  if (p == 1) return reduce(g, "ReduceL1", x, {axis}, keepdims);
  Value a = g.node("Abs", {x});
  if (p == 0) {
    Value nonzero = g.cast(g.node("Not", {g.node("Equal", {x, num(g, 0, x)})}), g.dtype(x));
    return reduce(g, "ReduceSum", nonzero, {axis}, keepdims);
  }
  if (std::isinf(p))
    return red::extreme(g, p > 0 ? "ReduceMax" : "ReduceMin", a, Ints{axis}, keepdims);
  Value sum = reduce(g, "ReduceSum", g.node("Pow", {a, num(g, p, x)}), {axis}, keepdims);
  return g.node("Pow", {sum, num(g, 1 / p, x)});
}

// Each norm is kept away from 0 on its own, as PyTorch does since 1.12.
Value cosine_similarity(Emit& g, Value a, Value b, int64_t dim, double eps) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(g.rank(a), g.rank(b));
  const int64_t axis = dim < 0 ? dim + rank : dim;
  auto unit = [&](Value v) {
    v = unsqueeze(g, g.cast(v, t), range(0, rank - g.rank(v)));
    Value length = reduce(g, "ReduceL2", v, {axis});
    return div(g, v, g.node("Max", {length, g.number(eps, t)}));
  };
  return reduce(g, "ReduceSum", mul(g, unit(a), unit(b)), {axis}, false);
}

Value pairwise_distance(Emit& g, Value a, Value b, double p, double eps, bool keepdim) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(g.rank(a), g.rank(b));
  Value d = add(g, sub(g, g.cast(a, t), g.cast(b, t)), g.number(eps, t));
  return norm(g, d, p, rank - 1, keepdim);
}

// [.., P, M] and [.., R, M] -> [.., P, R]. The difference is formed directly in every mode, which
// is at least as exact as PyTorch's matrix product form for many rows.
Value cdist(Emit& g, Value a, Value b, double p) {
  const int64_t ra = g.rank(a), rb = g.rank(b), rank = std::max(ra, rb);
  Value d = sub(g, unsqueeze(g, a, {ra - 1}), unsqueeze(g, b, {rb - 2}));
  return norm(g, d, p, rank, false);
}

constexpr Lowering table[] = {
    op("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t dim, double eps) {
         return cosine_similarity(g, a, b, dim, eps);
       }),
    op("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
       [](Emit& g, Value a, Value b, double p, double eps, bool keepdim) {
         return pairwise_distance(g, a, b, p, eps, keepdim);
       }),
    op("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
       [](Emit& g, Value a, Value b, double p, Skip) { return cdist(g, a, b, p); }),
};

}  // namespace

Table distance_rows() { return table; }

}  // namespace oe::lower
