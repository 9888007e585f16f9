// Losses against class numbers or class probabilities. reduction: 0 none, 1 mean, 2 sum.
#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;
using MaybeValue = std::optional<Value>;

// One class number per sample, its weight (0 where it is to be ignored), and what it picks.
struct Picked {
  Value weight;  // same shape as the target
  Value value;   // -log_prob[target], same shape
};

// `log_probs` is [C] with a 0-d target or [N, C, ...] with [N, ...].
Picked pick(Emit& g, Value log_probs, Value target, MaybeValue weight, int64_t ignore) {
  const DType t = g.dtype(log_probs);
  const int64_t axis = g.rank(log_probs) == 1 ? 0 : 1;
  Value y = g.cast(target, DType::Int64);
  Value ignored = g.node("Equal", {y, g.i64(ignore)});
  Value safe = where(g, ignored, g.i64(0), y);
  Value at = unsqueeze(g, safe, {axis});
  Value found = g.node("GatherElements", {log_probs, at}, {{"axis", axis}});
  Value zero = g.number(0, t);
  Value w =
      where(g, ignored, zero, weight ? gather(g, g.cast(*weight, t), safe, 0) : g.number(1, t));
  Value v = where(g, ignored, zero, g.node("Neg", {squeeze(g, found, {axis})}));
  return {w, v};
}

// The mean is weighted: the sum of losses over the sum of weights.
Values reduce_picked(Emit& g, const Picked& p, int64_t kind) {
  Value loss = mul(g, p.value, p.weight);
  Value total = reduce(g, "ReduceSum", p.weight, {}, false);
  if (kind == 0) return {loss, total};
  Value sum = reduce(g, "ReduceSum", loss, {}, false);
  return {kind == 1 ? div(g, sum, total) : sum, total};
}

Values nll(Emit& g, Value x, Value target, MaybeValue weight, int64_t kind, int64_t ignore) {
  Values r = reduce_picked(g, pick(g, x, target, weight, ignore), kind);
  if (kind == 0) r[1] = num(g, 0, r[1]);
  return r;
}

// [C] -> [C, 1, 1 ...] along axis `axis` of a tensor of `rank`.
Value along(Emit& g, Value v, int64_t rank, int64_t axis) {
  Ints shape(static_cast<size_t>(rank - axis), 1);
  shape[0] = -1;
  return reshape(g, v, shape);
}

Value cross_entropy(Emit& g, Value x, Value target, MaybeValue weight, int64_t kind, int64_t ignore,
                    double smoothing) {
  const DType t = g.dtype(x);
  const int64_t rank = g.rank(x), axis = rank == 1 ? 0 : 1;
  Value logs = g.node("LogSoftmax", {x}, {{"axis", axis}});
  auto classes = g.dim(x, axis);
  auto count = [&] { return g.cast(g.size(x, axis), t); };
  if (!is_float(g.dtype(target))) {
    const Picked p = pick(g, logs, target, weight, ignore);
    Values r = reduce_picked(g, p, kind);
    if (smoothing == 0) return r[0];
    // The smoothed part spreads over all classes, with their weights, where nothing is ignored.
    Value each = weight ? mul(g, logs, along(g, g.cast(*weight, t), rank, axis)) : logs;
    Value spread = g.node("Neg", {reduce(g, "ReduceSum", each, {axis}, false)});
    Value ignored = g.node("Equal", {g.cast(target, DType::Int64), g.i64(ignore)});
    spread = where(g, ignored, g.number(0, t), spread);
    if (kind == 1) {
      Value total =
          weight ? r[1] : reduce(g, "ReduceSum", g.cast(g.node("Not", {ignored}), t), {}, false);
      spread = div(g, reduce(g, "ReduceSum", spread, {}, false), total);
    } else if (kind == 2) {
      spread = reduce(g, "ReduceSum", spread, {}, false);
    }
    Value share = div(g, g.number(smoothing, t),
                      classes ? g.number(static_cast<double>(*classes), t) : count());
    return add(g, mul(g, r[0], g.number(1 - smoothing, t)), mul(g, spread, share));
  }
  Value y = g.cast(target, t);
  if (smoothing > 0) {
    Value share = div(g, g.number(smoothing, t), count());
    y = add(g, mul(g, y, g.number(1 - smoothing, t)), share);
  }
  Value each = mul(g, logs, y);
  if (weight) each = mul(g, each, along(g, g.cast(*weight, t), rank, axis));
  Value loss = g.node("Neg", {reduce(g, "ReduceSum", each, {axis}, false)});
  // The mean is over samples: everything but the classes.
  return reduction(g, loss, kind);
}

constexpr auto nll_value = [](Emit& g, Value x, Value target, MaybeValue weight, int64_t kind,
                              int64_t ignore) {
  return nll(g, x, target, weight, kind, ignore)[0];
};
constexpr auto nll_both = [](Emit& g, Value x, Value target, MaybeValue weight, int64_t kind,
                             int64_t ignore) { return nll(g, x, target, weight, kind, ignore); };

constexpr Lowering table[] = {
    op("aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
       nll_value),
    op("aten::nll_loss2d(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
       nll_value),
    op("aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor",
       nll_value),
    op("aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
       nll_both),
    op("aten::nll_loss2d_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)",
       nll_both),
    op("aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
       [](Emit& g, Value x, Value target, MaybeValue weight, int64_t kind, int64_t ignore,
          double smoothing) {
         return cross_entropy(g, x, target, weight, kind, ignore, smoothing);
       }),
};

}  // namespace

Table class_loss_rows() { return table; }

}  // namespace oe::lower
