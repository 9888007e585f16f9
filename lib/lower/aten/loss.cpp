// Losses between two tensors of one shape. reduction: 0 none, 1 mean, 2 sum.
#include <cmath>

#include "lib/lower/aten/shape_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;
using MaybeValue = std::optional<Value>;

Value neg(Emit& g, Value x) { return g.node("Neg", {x}); }
Value log(Emit& g, Value x) { return g.node("Log", {x}); }
Value exp(Emit& g, Value x) { return g.node("Exp", {x}); }
Value relu(Emit& g, Value x) { return g.node("Relu", {x}); }

Value difference(Emit& g, Value a, Value b) {
  const DType t = g.result_dtype();
  return sub(g, g.cast(a, t), g.cast(b, t));
}

Value mse(Emit& g, Value a, Value b, int64_t kind) {
  Value d = difference(g, a, b);
  return reduction(g, mul(g, d, d), kind);
}

Value smooth_l1(Emit& g, Value a, Value b, int64_t kind, double beta) {
  Value d = g.node("Abs", {difference(g, a, b)});
  if (beta == 0) return reduction(g, d, kind);
  Value small = div(g, mul(g, mul(g, d, d), num(g, 0.5, d)), num(g, beta, d));
  Value large = sub(g, d, num(g, 0.5 * beta, d));
  return reduction(g, where(g, g.node("Less", {d, num(g, beta, d)}), small, large), kind);
}

Value huber(Emit& g, Value a, Value b, int64_t kind, double delta) {
  Value d = g.node("Abs", {difference(g, a, b)});
  Value small = mul(g, mul(g, d, d), num(g, 0.5, d));
  Value large = mul(g, sub(g, d, num(g, 0.5 * delta, d)), num(g, delta, d));
  return reduction(g, where(g, g.node("Less", {num(g, delta, d), d}), large, small), kind);
}

// target * log(target) is 0 where the target is 0.
Value xlogx(Emit& g, Value t) {
  return where(g, g.node("Equal", {t, num(g, 0, t)}), num(g, 0, t), mul(g, t, log(g, t)));
}

Value kl_div(Emit& g, Value input, Value target, int64_t kind, bool log_target) {
  const DType t = g.result_dtype();
  Value x = g.cast(input, t), y = g.cast(target, t);
  Value loss = log_target ? mul(g, exp(g, y), sub(g, y, x)) : sub(g, xlogx(g, y), mul(g, y, x));
  return reduction(g, loss, kind);
}

// The kernel looks at the target's elements in order, whatever its axes of size 1.
Value shaped_like(Emit& g, Value y, Value x) {
  bool same = g.rank(y) == g.rank(x);
  for (int64_t i = 0; same && i < g.rank(x); ++i) same = shape::same_dim(x, i, y, i);
  return same ? y : shape::restore(g, shape::flat(g, y), x);
}

// Both logarithms are kept from going below -100, as in the kernel.
Value bce(Emit& g, Value x, Value y, MaybeValue weight, int64_t kind) {
  y = shaped_like(g, y, x);
  Value one = num(g, 1, x), least = num(g, -100, x);
  Value yes = g.node("Max", {log(g, x), least});
  Value no = g.node("Max", {log(g, sub(g, one, x)), least});
  Value loss = sub(g, mul(g, sub(g, y, one), no), mul(g, y, yes));
  if (weight) loss = mul(g, loss, *weight);
  return reduction(g, loss, kind);
}

// -log sigmoid(x) = softplus(-x), written so that large |x| do not overflow.
Value softplus_negative(Emit& g, Value x) {
  Value decay = exp(g, neg(g, g.node("Abs", {x})));
  return add(g, relu(g, neg(g, x)), log(g, add(g, decay, num(g, 1, x))));
}

Value bce_with_logits(Emit& g, Value input, Value target, MaybeValue weight, MaybeValue positive,
                      int64_t kind) {
  const DType t = g.result_dtype();
  Value x = g.cast(input, t), y = g.cast(target, t);
  Value penalty = softplus_negative(g, x), one = num(g, 1, x);
  if (positive)
    penalty = mul(g, penalty, add(g, one, mul(g, sub(g, g.cast(*positive, t), one), y)));
  Value loss = add(g, mul(g, sub(g, one, y), x), penalty);
  if (weight) loss = mul(g, loss, g.cast(*weight, t));
  return reduction(g, loss, kind);
}

Value poisson_nll(Emit& g, Value x, Value y, bool log_input, bool full, double eps, int64_t kind) {
  const DType t = g.result_dtype();
  x = g.cast(x, t);
  y = g.cast(y, t);
  Value loss = log_input ? sub(g, exp(g, x), mul(g, y, x))
                         : sub(g, x, mul(g, y, log(g, add(g, x, num(g, eps, x)))));
  if (full) {  // Stirling's approximation of log(y!) above 1
    const double pi = std::acos(-1.0);
    Value half_log = mul(g, log(g, mul(g, y, num(g, 2 * pi, y))), num(g, 0.5, y));
    Value stirling = add(g, sub(g, mul(g, y, log(g, y)), y), half_log);
    Value above = g.node("Less", {num(g, 1, y), y});
    loss = add(g, loss, where(g, above, stirling, num(g, 0, y)));
  }
  return reduction(g, loss, kind);
}

Value hinge_embedding(Emit& g, Value x, Value y, double margin, int64_t kind) {
  Value zero = num(g, 0, x);
  Value margin_part =
      where(g, g.node("Equal", {y, num(g, 1, y)}), zero, relu(g, sub(g, num(g, margin, x), x)));
  Value self_part = where(g, g.node("Equal", {y, num(g, -1, y)}), zero, x);
  return reduction(g, add(g, margin_part, self_part), kind);
}

Value margin_ranking(Emit& g, Value a, Value b, Value y, double margin, int64_t kind) {
  const DType t = g.result_dtype();
  Value d = mul(g, neg(g, g.cast(y, t)), difference(g, a, b));
  return reduction(g, relu(g, add(g, d, g.number(margin, t))), kind);
}

Value soft_margin(Emit& g, Value x, Value y, int64_t kind) {
  const DType t = g.result_dtype();
  Value e = exp(g, mul(g, neg(g, g.cast(y, t)), g.cast(x, t)));
  return reduction(g, log(g, add(g, e, g.number(1, t))), kind);
}

// 1 - cos for pairs that belong together, relu(cos - margin) for the others.
Value cosine_embedding(Emit& g, Value a, Value b, Value y, double margin, int64_t kind) {
  const DType t = g.result_dtype();
  const int64_t axis = std::max(g.rank(a), g.rank(b)) - 1;
  const double eps = 1e-12;
  Value x1 = g.cast(a, t), x2 = g.cast(b, t);
  auto dot = [&](Value p, Value q) { return reduce(g, "ReduceSum", mul(g, p, q), {axis}, false); };
  Value length =
      sqrt(g, mul(g, add(g, dot(x1, x1), g.number(eps, t)), add(g, dot(x2, x2), g.number(eps, t))));
  Value cosine = div(g, dot(x1, x2), length);
  Value zero = g.number(0, t);
  Value together =
      where(g, g.node("Equal", {y, num(g, 1, y)}), sub(g, g.number(1, t), cosine), zero);
  Value apart = where(g, g.node("Equal", {y, num(g, -1, y)}),
                      relu(g, sub(g, cosine, g.number(margin, t))), zero);
  return reduction(g, add(g, together, apart), kind);
}

template <auto F>
constexpr auto two = [](Emit& g, Value a, Value b, int64_t kind) { return F(g, a, b, kind); };

constexpr Lowering table[] = {
    op("aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", two<mse>),
    op("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t kind) {
         return reduction(g, g.node("Abs", {difference(g, a, b)}), kind);
       }),
    op("aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t kind, double beta) {
         return smooth_l1(g, a, b, kind, beta);
       }),
    op("aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t kind, double delta) {
         return huber(g, a, b, kind, delta);
       }),
    op("aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor",
       [](Emit& g, Value a, Value b, int64_t kind, bool log_target) {
         return kl_div(g, a, b, kind, log_target);
       }),
    op("aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
       [](Emit& g, Value x, Value y, MaybeValue weight, int64_t kind) {
         return bce(g, x, y, weight, kind);
       }),
    op("aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None, Tensor? pos_weight=None, int reduction=1) -> Tensor",
       [](Emit& g, Value x, Value y, MaybeValue weight, MaybeValue positive, int64_t kind) {
         return bce_with_logits(g, x, y, weight, positive, kind);
       }),
    op("aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction) -> Tensor",
       [](Emit& g, Value x, Value y, bool log_input, bool full, double eps, int64_t kind) {
         return poisson_nll(g, x, y, log_input, full, eps, kind);
       }),
    op("aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
       [](Emit& g, Value x, Value y, double margin, int64_t kind) {
         return hinge_embedding(g, x, y, margin, kind);
       }),
    op("aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
       [](Emit& g, Value a, Value b, Value y, double margin, int64_t kind) {
         return margin_ranking(g, a, b, y, margin, kind);
       }),
    op("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       two<soft_margin>),
    op("aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1) -> Tensor",
       [](Emit& g, Value a, Value b, Value y, double margin, int64_t kind) {
         return cosine_embedding(g, a, b, y, margin, kind);
       }),
};

}  // namespace

Table loss_rows() { return table; }

}  // namespace oe::lower
