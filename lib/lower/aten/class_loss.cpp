// Losses against class numbers or class probabilities.
//
// ONNX's NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss take no single sample, no
// probabilities and no smoothing, and ONNX Runtime has no kernels of them: it runs longer bodies.
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

// One class number per sample, its weight (0 where it is to be ignored), and what it picks.
struct Picked {
  T weight;  // same shape as the target
  T value;   // -log_prob[target], same shape
};

// `log_probs` is [C] with a 0-d target or [N, C, ...] with [N, ...]. A target [1] beside [C] is
// that of a sample.
Picked pick(Call& g, T log_probs, T target, MaybeValue weight, int64_t ignore) {
  const DType t = log_probs.dtype();
  const int64_t axis = log_probs.rank() == 1 ? 0 : 1;
  T y = cast(target, DType::Int64);
  if (axis == 0) y = to_0d(y);
  T ignored = equal(y, ignore);
  T safe = where(ignored, 0, y);
  T at = unsqueeze(safe, {axis});
  T found = node("GatherElements", {log_probs, at}, {{"axis", axis}});
  T zero = g.number(0, t);
  T w = where(ignored, zero, weight ? gather(flat(cast(*weight, t)), safe, 0) : g.number(1, t));
  T v = where(ignored, zero, -squeeze(found, {axis}));
  return {w, v};
}

// The mean is weighted: the sum of losses over the sum of weights.
Values reduce_picked(const Picked& p, Reduction kind) {
  T loss = p.value * p.weight;
  T total = reduce("ReduceSum", p.weight, {}, false);
  if (kind == Reduction::None) return {loss, total};
  T sum = reduce("ReduceSum", loss, {}, false);
  return {kind == Reduction::Mean ? sum / total : sum, total};
}

Values nll(Call& g, T x, T target, MaybeValue weight, Reduction kind, int64_t ignore) {
  Values r = reduce_picked(pick(g, x, target, weight, ignore), kind);
  if (kind == Reduction::None) r[1] = number(0, r[1]);
  return r;
}

T cross_entropy(Call& g, T x, T target, MaybeValue weight, Reduction kind, int64_t ignore,
                double smoothing) {
  const DType t = x.dtype();
  const int64_t rank = x.rank(), axis = rank == 1 ? 0 : 1;
  T logs = node("LogSoftmax", {x}, {{"axis", axis}});
  auto classes = x.dim(axis);
  auto count = [&] { return cast(size(x, axis), t); };
  if (!is_float(target.dtype())) {
    const Picked p = pick(g, logs, target, weight, ignore);
    Values r = reduce_picked(p, kind);
    if (smoothing == 0) return r[0];
    // The smoothed part spreads over all classes, with their weights, where nothing is ignored.
    T each = weight ? logs * along(cast(*weight, t), axis, rank) : logs;
    T spread = -reduce("ReduceSum", each, {axis}, false);
    T ignored = equal(cast(target, DType::Int64), ignore);
    spread = where(ignored, 0, spread);
    if (kind == Reduction::Mean) {
      T total = weight ? r[1] : reduce("ReduceSum", cast(~ignored, t), {}, false);
      spread = reduce("ReduceSum", spread, {}, false) / total;
    } else if (kind == Reduction::Sum) {
      spread = reduce("ReduceSum", spread, {}, false);
    }
    T share = smoothing / (classes ? g.number(static_cast<double>(*classes), t) : count());
    return r[0] * (1 - smoothing) + spread * share;
  }
  T y = cast(target, t);
  if (smoothing > 0) {
    T share = smoothing / count();
    y = y * (1 - smoothing) + share;
  }
  T each = logs * y;
  if (weight) each = each * along(cast(*weight, t), axis, rank);
  T loss = -reduce("ReduceSum", each, {axis}, false);
  // The mean is over samples: everything but the classes.
  return reduced(loss, kind);
}

T nll_value(Call& g, T x, T target, MaybeValue weight, Reduction kind, int64_t ignore) {
  return nll(g, x, target, weight, kind, ignore)[0];
}

constexpr Lowering table[] = {
    op<nll_value>(
        names("aten::nll_loss", "aten::nll_loss2d", "aten::nll_loss_nd"),
        "(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100) -> Tensor"),
    op<nll>(
        names("aten::nll_loss_forward", "aten::nll_loss2d_forward"),
        "(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index) -> (Tensor output, Tensor total_weight)"),
    op<cross_entropy>(
        "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor"),
};

}  // namespace

Table class_loss_rows() { return table; }

}  // namespace oe::lower
