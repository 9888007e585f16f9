// Distances and similarities between vectors.
#include <cmath>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// The p-norm of `x` over the axes; none: over all of them.
T norm(T x, double p, const Ints& axes, bool keepdims) {
  if (p == 2) return reduce("ReduceL2", x, axes, keepdims);
  if (p == 1) return reduce("ReduceL1", x, axes, keepdims);
  T a = abs(x);
  if (p == 0) {
    T nonzero = cast(~equal(x, 0), x.dtype());
    return reduce("ReduceSum", nonzero, axes, keepdims);
  }
  if (std::isinf(p)) return extreme_over(p > 0 ? "ReduceMax" : "ReduceMin", a, axes, keepdims);
  T sum = reduce("ReduceSum", node("Pow", {a, number(p, x)}), axes, keepdims);
  return node("Pow", {sum, number(1 / p, x)});
}

// Each norm is kept away from 0 on its own, as PyTorch does since 1.12; it is that of the vector
// after broadcasting.
T cosine_similarity(Call& g, T a, T b, int64_t dim, double eps) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(a.rank(), b.rank());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  auto as_given = [&](T v) {
    T y = with_dims(cast(v, t), *v->type.shape);
    return unsqueeze(y, range(0, rank - v.rank()));
  };
  T x = as_given(a), y = as_given(b);
  if (!same_dim(x, axis, y, axis)) {
    const Int size = broadcast_size(size_of(x, axis), size_of(y, axis));
    x = widened(x, axis, size);
    y = widened(y, axis, size);
  }
  auto unit = [&](T v) {
    T length = reduce("ReduceL2", v, {axis});
    return v / maximum(length, eps);
  };
  return reduce("ReduceSum", unit(x) * unit(y), {axis}, false);
}

T pairwise_distance(Call& g, T a, T b, double p, double eps, bool keepdim) {
  const DType t = g.result_dtype();
  const int64_t rank = std::max(a.rank(), b.rank());
  T d = cast(a, t) - cast(b, t) + eps;
  return norm(d, p, {rank - 1}, keepdim);
}

// max(0, margin + |anchor - positive| - |anchor - negative|); with `swap` the negative may be
// nearer to the positive than to the anchor.
T triplet_margin_loss(Call& g, T anchor, T positive, T negative, double margin, double p,
                      double eps, bool swap, Reduction kind) {
  T near = pairwise_distance(g, anchor, positive, p, eps, false);
  T far = pairwise_distance(g, anchor, negative, p, eps, false);
  if (swap) far = minimum(far, pairwise_distance(g, positive, negative, p, eps, false));
  T loss = unary("Relu", margin + (near - far));
  return reduced(loss, kind);
}

// The distances of all pairs of rows i < j, in their order.
T pdist(Call& g, T x, double p) {
  const Int n = size_of(x, 0);
  T i = nullptr, j = nullptr;
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
    T places = g.iota(n);
    T pairs = unary("NonZero", unsqueeze(places, {1}) < unsqueeze(places, {0}));
    i = gather(pairs, g.i64(0), 0);
    j = gather(pairs, g.i64(1), 0);
  }
  return norm(gather(x, i, 0) - gather(x, j, 0), p, {1}, false);
}

// [.., P, M] and [.., R, M] -> [.., P, R]. The difference is formed directly in every mode, which
// is at least as exact as PyTorch's matrix product form for many rows.
T cdist(T a, T b, double p) {
  const int64_t ra = a.rank(), rb = b.rank(), rank = std::max(ra, rb);
  T d = unsqueeze(a, {ra - 1}) - unsqueeze(b, {rb - 2});
  return norm(d, p, {rank}, false);
}

constexpr Lowering table[] = {
    op("aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor",
       [](Call& g, T a, T b, int64_t dim, double eps) {
         return cosine_similarity(g, a, b, dim, eps);
       }),
    op("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor",
       [](Call& g, T a, T b, double p, double eps, bool keepdim) {
         return pairwise_distance(g, a, b, p, eps, keepdim);
       }),
    op("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor",
       [](T a, T b, double p, Skip) { return cdist(a, b, p); }),
    op<pdist>("aten::pdist(Tensor self, float p=2.) -> Tensor"),
    op("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor",
       [](Call& g, T a, T b, double p) {
         const DType t = g.result_dtype();
         return norm(cast(a, t) - cast(b, t), p, {}, false);
       }),
    op("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor",
       [](T a, T b, int64_t dim) {
         const int64_t rank = std::max(a.rank(), b.rank());
         return reduce("ReduceSum", a * b, {dim < 0 ? dim + rank : dim}, false);
       }),
    op<triplet_margin_loss>(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor"),
};

}  // namespace

Table distance_rows() { return table; }

}  // namespace oe::lower
