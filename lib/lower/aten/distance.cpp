// Distances and similarities between vectors.
#include <cmath>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/aten/shape_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// The p-norm of `x` over the axes; none: over all of them.
Value norm(Emit& g, Value x, double p, const Ints& axes, bool keepdims) {
  if (p == 2) return reduce(g, "ReduceL2", x, axes, keepdims);
  if (p == 1) return reduce(g, "ReduceL1", x, axes, keepdims);
  Value a = g.node("Abs", {x});
  if (p == 0) {
    Value nonzero = g.cast(g.node("Not", {g.node("Equal", {x, num(g, 0, x)})}), g.dtype(x));
    return reduce(g, "ReduceSum", nonzero, axes, keepdims);
  }
  if (std::isinf(p)) return red::extreme(g, p > 0 ? "ReduceMax" : "ReduceMin", a, axes, keepdims);
  Value sum = reduce(g, "ReduceSum", g.node("Pow", {a, num(g, p, x)}), axes, keepdims);
  return g.node("Pow", {sum, num(g, 1 / p, x)});
}

// Each norm is kept away from 0 on its own, as PyTorch does since 1.12; it is that of the vector
// after broadcasting.
Value cosine_similarity(Emit& g, Value a, Value b, int64_t dim, double eps) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(g.rank(a), g.rank(b));
  const int64_t axis = dim < 0 ? dim + rank : dim;
  auto as_given = [&](Value v) {
    Value y = shape::with_dims(g.cast(v, t), *v->type.shape);
    return shape::unsqueezed(g, y, range(0, rank - g.rank(v)));
  };
  Value x = as_given(a), y = as_given(b);
  if (!shape::same_dim(x, axis, y, axis)) {
    const Int size = shape::broadcast_size(g, nn::dim(g, x, axis), nn::dim(g, y, axis));
    x = shape::widened(g, x, axis, size);
    y = shape::widened(g, y, axis, size);
  }
  auto unit = [&](Value v) {
    Value length = reduce(g, "ReduceL2", v, {axis});
    return div(g, v, g.node("Max", {length, g.number(eps, t)}));
  };
  return reduce(g, "ReduceSum", mul(g, unit(x), unit(y)), {axis}, false);
}

Value pairwise_distance(Emit& g, Value a, Value b, double p, double eps, bool keepdim) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(g.rank(a), g.rank(b));
  Value d = add(g, sub(g, g.cast(a, t), g.cast(b, t)), g.number(eps, t));
  return norm(g, d, p, {rank - 1}, keepdim);
}

// max(0, margin + |anchor - positive| - |anchor - negative|); with `swap` the negative may be
// nearer to the positive than to the anchor.
Value triplet_margin_loss(Emit& g, Value anchor, Value positive, Value negative, double margin,
                          double p, double eps, bool swap, int64_t kind) {
  Value near = pairwise_distance(g, anchor, positive, p, eps, false);
  Value far = pairwise_distance(g, anchor, negative, p, eps, false);
  if (swap) far = g.node("Min", {far, pairwise_distance(g, positive, negative, p, eps, false)});
  Value loss = g.node("Relu", {add(g, num(g, margin, near), sub(g, near, far))});
  return reduction(g, loss, kind);
}

// The distances of all pairs of rows i < j, in their order.
Value pdist(Emit& g, Value x, double p) {
  const Int n = dim(g, x, 0);
  Value i = nullptr, j = nullptr;
  if (n.known) {
    Ints first, second;
    for (int64_t a = 0; a < *n.known; ++a)
      for (int64_t b = a + 1; b < *n.known; ++b) {
        first.push_back(a);
        second.push_back(b);
      }
    i = g.i64s(first);
    j = g.i64s(second);
  } else {
    Value places = iota(g, n);
    Value pairs =
        g.node("NonZero", {g.node("Less", {unsqueeze(g, places, {1}), unsqueeze(g, places, {0})})});
    i = gather(g, pairs, g.i64(0), 0);
    j = gather(g, pairs, g.i64(1), 0);
  }
  return norm(g, sub(g, gather(g, x, i, 0), gather(g, x, j, 0)), p, {1}, false);
}

// [.., P, M] and [.., R, M] -> [.., P, R]. The difference is formed directly in every mode, which
// is at least as exact as PyTorch's matrix product form for many rows.
Value cdist(Emit& g, Value a, Value b, double p) {
  const int64_t ra = g.rank(a), rb = g.rank(b), rank = std::max(ra, rb);
  Value d = sub(g, unsqueeze(g, a, {ra - 1}), unsqueeze(g, b, {rb - 2}));
  return norm(g, d, p, {rank}, false);
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
    op<pdist>("aten::pdist(Tensor self, float p=2.) -> Tensor"),
    op("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
       [](Emit& g, Value a, Value b, double p) {
         const DType t = g.result_dtype();
         return norm(g, sub(g, g.cast(a, t), g.cast(b, t)), p, {}, false);
       }),
    op("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t dim) {
         const int64_t rank = std::max(g.rank(a), g.rank(b));
         return reduce(g, "ReduceSum", mul(g, a, b), {dim < 0 ? dim + rank : dim}, false);
       }),
    op<triplet_margin_loss>(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor"),
};

}  // namespace

Table distance_rows() { return table; }

}  // namespace oe::lower
