// Losses between two tensors of one shape.
#include <numbers>

#include "lib/lower/aten/reduce.h"
#include "lib/lower/promotion.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

T relu(T x) { return unary("Relu", x); }

T mse(T a, T b, Reduction kind) {
  T d = a - b;
  return reduced(d * d, kind);
}

T l1(T a, T b, Reduction kind) { return reduced(abs(a - b), kind); }

T smooth_l1(T a, T b, Reduction kind, double beta) {
  T d = abs(a - b);
  if (beta == 0) return reduced(d, kind);
  return reduced(where(d < beta, d * d * 0.5 / beta, d - 0.5 * beta), kind);
}

T huber(T a, T b, Reduction kind, double delta) {
  T d = abs(a - b);
  return reduced(where(d > delta, (d - 0.5 * delta) * delta, d * d * 0.5), kind);
}

// target * log(target) is 0 where the target is 0.
T xlogx(T t) { return where(equal(t, 0), 0, t * log(t)); }

T kl_div(T x, T y, Reduction kind, bool log_target) {
  T loss = log_target ? exp(y) * (y - x) : xlogx(y) - y * x;
  return reduced(loss, kind);
}

// Whether each axis of y, from the last on, is x's or has size 1.
bool fits_into(T y, T x) {
  bool fits = y.ranked() && x.ranked() && y.rank() <= x.rank();
  for (int64_t i = 1; fits && i <= y.rank(); ++i)
    fits = y.dim(y.rank() - i) == 1 || same_dim(x, x.rank() - i, y, y.rank() - i);
  return fits;
}

// The kernel drops axes of size 1 and broadcasts then: elements in order, where there are as many.
T shaped_like(T y, T x) {
  if (fits_into(y, x)) return y;
  bool one = y.ranked();
  for (int64_t i = 0; one && i < y.rank(); ++i) one = y.dim(i) == 1;
  if (one) return reshape(y, Ints{});
  bool same = y.rank() == x.rank();
  for (int64_t i = 0; same && i < x.rank(); ++i) same = same_dim(x, i, y, i);
  if (same) return y;
  return restore(flat(y), x);
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

T bce_with_logits(T x, T y, MaybeValue weight, MaybeValue positive, Reduction kind) {
  T penalty = softplus_negative(x), one = number(1, x);
  if (positive) penalty = penalty * (one + (*positive - one) * y);
  T loss = (one - y) * x + penalty;
  if (weight) loss = loss * *weight;
  return reduced(loss, kind);
}

T poisson_nll(T x, T y, bool log_input, bool full, double eps, Reduction kind) {
  T loss = log_input ? exp(x) - y * x : x - y * log(x + eps);
  if (full) {  // Stirling's approximation of log(y!) above 1
    T half_log = log(y * (2 * std::numbers::pi)) * 0.5;
    loss = loss + where(y > 1, y * log(y) - y + half_log, 0);
  }
  return reduced(loss, kind);
}

T hinge_embedding(T x, T y, double margin, Reduction kind) {
  T apart = where(equal(y, 1), 0, relu(margin - x)), together = where(equal(y, -1), 0, x);
  return reduced(apart + together, kind);
}

T soft_margin(T x, T y, Reduction kind) { return reduced(log(exp(-y * x) + 1), kind); }

// 1 - cos for pairs that belong together, relu(cos - margin) for the others.
T cosine_embedding(T a, T b, T y, double margin, Reduction kind) {
  const int64_t axis = std::max(a.rank(), b.rank()) - 1;
  const double eps = 1e-12;
  auto dot = [&](T p, T q) { return reduce("ReduceSum", p * q, {axis}, false); };
  auto square = [&](T p) { return reduce("ReduceSumSquare", p, {axis}, false); };
  T cosine = dot(a, b) / sqrt((square(a) + eps) * (square(b) + eps));
  T together = where(equal(y, 1), 1 - cosine, 0);
  T apart = where(equal(y, -1), relu(cosine - margin), 0);
  return reduced(together + apart, kind);
}

constexpr Lowering table[] = {
    typed<mse>("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    typed<l1>("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    typed<smooth_l1>(
        "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor"),
    typed<huber>(
        "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor"),
    typed<kl_div>(
        "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor"),
    typed<bce>(
        "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor"),
    typed<bce_with_logits>(
        "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor"),
    typed<poisson_nll>(
        "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor"),
    typed<hinge_embedding>(
        "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor"),
    typed<soft_margin>(
        "aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor"),
    typed<cosine_embedding>(
        "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor"),
};

}  // namespace

Table loss_rows() { return table; }

}  // namespace oe::lower
