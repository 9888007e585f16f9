// Losses between two tensors of one shape. reduction: 0 none, 1 mean, 2 sum.
#include <cmath>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

T relu(T x) { return unary("Relu", x); }

T difference(Call& g, T a, T b) {
  const DType t = g.result_dtype();
  return cast(a, t) - cast(b, t);
}

T mse(Call& g, T a, T b, Reduction kind) {
  T d = difference(g, a, b);
  return reduced(d * d, kind);
}

T smooth_l1(Call& g, T a, T b, Reduction kind, double beta) {
  T d = abs(difference(g, a, b));
  if (beta == 0) return reduced(d, kind);
  T small = d * d * 0.5 / beta;
  T large = d - 0.5 * beta;
  return reduced(where(d < beta, small, large), kind);
}

T huber(Call& g, T a, T b, Reduction kind, double delta) {
  T d = abs(difference(g, a, b));
  T small = d * d * 0.5;
  T large = (d - 0.5 * delta) * delta;
  return reduced(where(number(delta, d) < d, large, small), kind);
}

// target * log(target) is 0 where the target is 0.
T xlogx(T t) { return where(equal(t, 0), 0, t * log(t)); }

T kl_div(Call& g, T input, T target, Reduction kind, bool log_target) {
  const DType t = g.result_dtype();
  T x = cast(input, t), y = cast(target, t);
  T loss = log_target ? exp(y) * (y - x) : xlogx(y) - y * x;
  return reduced(loss, kind);
}

// The kernel looks at the target's elements in order, whatever its axes of size 1.
T shaped_like(T y, T x) {
  bool same = y.rank() == x.rank();
  for (int64_t i = 0; same && i < x.rank(); ++i) same = same_dim(x, i, y, i);
  return same ? y : restore(flat(y), x);
}

// Both logarithms are kept from going below -100, as in the kernel.
T bce(T x, T y, MaybeValue weight, Reduction kind) {
  y = shaped_like(y, x);
  T one = number(1, x), least = number(-100, x);
  T yes = maximum(log(x), least);
  T no = maximum(log(one - x), least);
  T loss = (y - one) * no - y * yes;
  if (weight) loss = loss * *weight;
  return reduced(loss, kind);
}

// -log sigmoid(x) = softplus(-x), written so that large |x| do not overflow.
T softplus_negative(T x) {
  T decay = exp(-abs(x));
  return relu(-x) + log(decay + 1);
}

T bce_with_logits(Call& g, T input, T target, MaybeValue weight, MaybeValue positive,
                  Reduction kind) {
  const DType t = g.result_dtype();
  T x = cast(input, t), y = cast(target, t);
  T penalty = softplus_negative(x), one = number(1, x);
  if (positive) penalty = penalty * (one + (cast(*positive, t) - one) * y);
  T loss = (one - y) * x + penalty;
  if (weight) loss = loss * cast(*weight, t);
  return reduced(loss, kind);
}

T poisson_nll(Call& g, T x, T y, bool log_input, bool full, double eps, Reduction kind) {
  const DType t = g.result_dtype();
  x = cast(x, t);
  y = cast(y, t);
  T loss = log_input ? exp(x) - y * x : x - y * log(x + eps);
  if (full) {  // Stirling's approximation of log(y!) above 1
    const double pi = std::acos(-1.0);
    T half_log = log(y * (2 * pi)) * 0.5;
    T stirling = y * log(y) - y + half_log;
    T above = number(1, y) < y;
    loss = loss + where(above, stirling, 0);
  }
  return reduced(loss, kind);
}

T hinge_embedding(T x, T y, double margin, Reduction kind) {
  T zero = number(0, x);
  T margin_part = where(equal(y, 1), zero, relu(margin - x));
  T self_part = where(equal(y, -1), zero, x);
  return reduced(margin_part + self_part, kind);
}

T margin_ranking(Call& g, T a, T b, T y, double margin, Reduction kind) {
  const DType t = g.result_dtype();
  T d = -cast(y, t) * difference(g, a, b);
  return reduced(relu(d + margin), kind);
}

T soft_margin(Call& g, T x, T y, Reduction kind) {
  const DType t = g.result_dtype();
  T e = exp(-cast(y, t) * cast(x, t));
  return reduced(log(e + 1), kind);
}

// 1 - cos for pairs that belong together, relu(cos - margin) for the others.
T cosine_embedding(Call& g, T a, T b, T y, double margin, Reduction kind) {
  const DType t = g.result_dtype();
  const int64_t axis = std::max(a.rank(), b.rank()) - 1;
  const double eps = 1e-12;
  T x1 = cast(a, t), x2 = cast(b, t);
  auto dot = [&](T p, T q) { return reduce("ReduceSum", p * q, {axis}, false); };
  auto square = [&](T p) { return reduce("ReduceSumSquare", p, {axis}, false); };
  T length = sqrt((square(x1) + eps) * (square(x2) + eps));
  T cosine = dot(x1, x2) / length;
  T zero = g.number(0, t);
  T together = where(equal(y, 1), 1 - cosine, zero);
  T apart = where(equal(y, -1), relu(cosine - margin), zero);
  return reduced(together + apart, kind);
}

template <auto F>
constexpr auto two = [](Call& g, T a, T b, Reduction kind) { return F(g, a, b, kind); };

constexpr Lowering table[] = {
    op("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", two<mse>),
    op("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       [](Call& g, T a, T b, Reduction kind) { return reduced(abs(difference(g, a, b)), kind); }),
    op("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
       [](Call& g, T a, T b, Reduction kind, double beta) {
         return smooth_l1(g, a, b, kind, beta);
       }),
    op("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
       [](Call& g, T a, T b, Reduction kind, double delta) { return huber(g, a, b, kind, delta); }),
    op("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
       [](Call& g, T a, T b, Reduction kind, bool log_target) {
         return kl_div(g, a, b, kind, log_target);
       }),
    op("aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
       [](T x, T y, MaybeValue weight, Reduction kind) { return bce(x, y, weight, kind); }),
    op("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
       [](Call& g, T x, T y, MaybeValue weight, MaybeValue positive, Reduction kind) {
         return bce_with_logits(g, x, y, weight, positive, kind);
       }),
    op("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
       [](Call& g, T x, T y, bool log_input, bool full, double eps, Reduction kind) {
         return poisson_nll(g, x, y, log_input, full, eps, kind);
       }),
    op("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
       [](T x, T y, double margin, Reduction kind) { return hinge_embedding(x, y, margin, kind); }),
    op("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
       [](Call& g, T a, T b, T y, double margin, Reduction kind) {
         return margin_ranking(g, a, b, y, margin, kind);
       }),
    op("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       two<soft_margin>),
    op("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
       [](Call& g, T a, T b, T y, double margin, Reduction kind) {
         return cosine_embedding(g, a, b, y, margin, kind);
       }),
};

}  // namespace

Table loss_rows() { return table; }

}  // namespace oe::lower
