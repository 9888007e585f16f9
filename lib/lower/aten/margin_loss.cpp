// Losses by margins between classes. reduction: 0 none, 1 mean, 2 sum.
#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

// A batch as it is, one sample as a batch of one.
Value batched(Emit& g, Value v) {
  if (g.rank(v) == 2) return v;
  Value y = reshape(g, v, Ints{1, -1});
  y->type.shape = std::vector<Dim>{Dim::of(1), (*v->type.shape)[0]};
  return y;
}

// [N] losses, each the sum over classes that `parts` [N, ..] holds; without a batch 0-d.
Value finished(Emit& g, Value parts, Value x, const Ints& axes, bool batch, int64_t kind) {
  Value classes = g.cast(g.size(x, 1), g.dtype(x));
  Value loss = div(g, reduce(g, "ReduceSum", parts, axes, false), classes);
  if (kind == 0 && !batch) return squeeze(g, loss, {0});
  return reduction(g, loss, kind);
}

// Every other class that comes nearer than `margin` to the right one counts, to the power p.
Value multi_margin(Emit& g, Value self, Value target, double p, double margin,
                   std::optional<Value> weight, int64_t kind) {
  Value x = batched(g, self), y = g.cast(reshape(g, target, Ints{-1}), DType::Int64);
  Value at = unsqueeze(g, y, {1});
  Value right = g.node("GatherElements", {x, at}, {{"axis", int64_t{1}}});
  Value short_of = g.node("Relu", {add(g, sub(g, num(g, margin, x), right), x)});
  if (p == 2) short_of = mul(g, short_of, short_of);
  Value own = g.node("Equal", {at, unsqueeze(g, iota(g, dim(g, x, 1)), {0})});
  short_of = where(g, own, num(g, 0, x), short_of);
  if (weight) short_of = mul(g, short_of, unsqueeze(g, gather(g, *weight, y, 0), {1}));
  return finished(g, short_of, x, {1}, g.rank(target) > 0, kind);
}

// Pairs of a target and another class. A row of targets ends at its first -1.
Values multilabel_margin(Emit& g, Value self, Value target, int64_t kind) {
  Value x = batched(g, self), y = g.cast(batched(g, target), DType::Int64);
  Value ends = g.cast(g.node("Less", {y, g.i64(0)}), DType::Int32);
  Value valid = g.node("Equal", {g.node("CumSum", {ends, g.i64(1)}), g.integer(0, DType::Int32)});
  y = where(g, valid, y, g.i64(0));
  Value wanted = unsqueeze(g, g.node("GatherElements", {x, y}, {{"axis", int64_t{1}}}), {2});
  valid = unsqueeze(g, valid, {2});
  Value classes = unsqueeze(g, iota(g, dim(g, x, 1)), {0, 1});
  Value named = g.node("And", {valid, g.node("Equal", {unsqueeze(g, y, {2}), classes})});
  Value is_target = reduce(g, "ReduceMax", g.cast(named, DType::Int32), {1});
  Value counts = g.node("And", {valid, g.node("Not", {g.cast(is_target, DType::Bool)})});
  Value nearer = g.node("Relu", {add(g, sub(g, num(g, 1, x), wanted), unsqueeze(g, x, {1}))});
  Value parts = where(g, counts, nearer, num(g, 0, x));
  const bool batch = g.rank(self) == 2;
  Value flags = g.cast(squeeze(g, is_target, batch ? Ints{1} : Ints{0, 1}), g.dtype(x));
  return {finished(g, parts, x, {1, 2}, batch, kind), flags};
}

constexpr Lowering table[] = {
    op<multi_margin>(
        "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor"),
    op("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       [](Emit& g, Value x, Value y, int64_t kind) { return multilabel_margin(g, x, y, kind)[0]; }),
    op<multilabel_margin>(
        "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)"),
};

}  // namespace

Table margin_loss_rows() { return table; }

}  // namespace oe::lower
