// Distances and similarities between vectors.
#include <cmath>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

// The p-norm of `x` over the axes; none: over all of them.
T norm(T x, double p, const Axes& axes, bool keepdims) {
  if (p == 2) return reduce("ReduceL2", x, axes, keepdims);
  if (p == 1) return reduce("ReduceL1", x, axes, keepdims);
  if (p == 0) return reduce("ReduceSum", cast(~equal(x, 0), x.dtype()), axes, keepdims);
  T a = abs(x);
  if (std::isinf(p)) return extreme_over(p > 0 ? "ReduceMax" : "ReduceMin", a, axes, keepdims);
  T sum = reduce("ReduceSum", node("Pow", {a, number(p, x)}), axes, keepdims);
  return node("Pow", {sum, number(1 / p, x)});
}

// Each norm is kept away from 0 on its own, as PyTorch does since 1.12; it is that of the vector
// after broadcasting.
T cosine_similarity(T a, T b, int64_t dim, double eps) {
  const int64_t rank = std::max(a.rank(), b.rank());
  const int64_t axis = dim < 0 ? dim + rank : dim;
  T x = unsqueeze(a, range(0, rank - a.rank())), y = unsqueeze(b, range(0, rank - b.rank()));
  if (!same_dim(x, axis, y, axis)) {
    const Int size = broadcast_size(size_of(x, axis), size_of(y, axis));
    x = widened(x, axis, size);
    y = widened(y, axis, size);
  }
  auto unit = [&](T v) { return v / maximum(reduce("ReduceL2", v, {axis}), eps); };
  return reduce("ReduceSum", unit(x) * unit(y), {axis}, false);
}

T pairwise_distance(T a, T b, double p, double eps, bool keepdim) {
  return norm(a - b + eps, p, {std::max(a.rank(), b.rank()) - 1}, keepdim);
}

// max(0, margin + |anchor - positive| - |anchor - negative|); with `swap` the negative may be
// nearer to the positive than to the anchor.
T triplet_margin_loss(T anchor, T positive, T negative, double margin, double p, double eps,
                      bool swap, Reduction kind) {
  T near = pairwise_distance(anchor, positive, p, eps, false);
  T far = pairwise_distance(anchor, negative, p, eps, false);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps, false));
  return reduced(unary("Relu", margin + (near - far)), kind);
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
T cdist(T a, T b, double p, Rest) {
  const int64_t ra = a.rank(), rb = b.rank(), rank = std::max(ra, rb);
  T d = unsqueeze(a, {ra - 1}) - unsqueeze(b, {rb - 2});
  return norm(d, p, {rank}, false);
}

T dist(T a, T b, double p) { return norm(a - b, p, {}, false); }

T vecdot(T a, T b, int64_t dim) {
  const int64_t rank = std::max(a.rank(), b.rank());
  return reduce("ReduceSum", a * b, {dim < 0 ? dim + rank : dim}, false);
}

constexpr Lowering table[] = {
    typed<cosine_similarity>(
        "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor"),
    typed<pairwise_distance>(
        "aten::pairwise_distance(Tensor x1, Tensor x2, float p=2., float eps=9.9999999999999995e-07, bool keepdim=False) -> Tensor"),
    op<cdist>("aten::cdist(Tensor x1, Tensor x2, float p=2., int? compute_mode=None) -> Tensor"),
    op<pdist>("aten::pdist(Tensor self, float p=2.) -> Tensor"),
    typed<dist>("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor"),
    typed<vecdot>("aten::linalg_vecdot(Tensor x, Tensor y, *, int dim=-1) -> Tensor"),
    typed<triplet_margin_loss>(
        "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2., float eps=9.9999999999999995e-07, bool swap=False, int reduction=1) -> Tensor"),
};

}  // namespace

Table distance_rows() { return table; }

}  // namespace oe::lower
