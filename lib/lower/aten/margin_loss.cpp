// Losses by margins between classes.
#include "lib/lower/aten/reduce.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

// A batch as it is, one sample as a batch of one; a number is a sample of one class.
T batched(T v) {
  if (v.rank() == 2) return v;
  T y = reshape(v, Ints{1, -1});
  y->type.shape = std::vector<Dim>{Dim::of(1), v.rank() == 0 ? Dim::of(1) : (*v->type.shape)[0]};
  return y;
}

// [N] losses, each the sum over classes that `parts` [N, ..] holds; without a batch 0-d.
T finished(T parts, T x, const Ints& axes, bool batch, Reduction kind) {
  T classes = cast(size(x, 1), x.dtype());
  T loss = reduce("ReduceSum", parts, axes, false) / classes;
  if (kind == Reduction::None && !batch) return squeeze(loss, {0});
  return reduced(loss, kind);
}

// Every other class that comes nearer than `margin` to the right one counts, to the power p.
T multi_margin(Call& g, T self, T target, double p, double margin, std::optional<T> weight,
               Reduction kind) {
  T x = batched(self), y = cast(reshape(target, Ints{-1}), DType::Int64);
  T at = unsqueeze(y, {1});
  T right = node("GatherElements", {x, at}, {{"axis", int64_t{1}}});
  T short_of = unary("Relu", margin - right + x);
  if (p == 2) short_of = short_of * short_of;
  T own = equal(at, unsqueeze(g.iota(size_of(x, 1)), {0}));
  short_of = where(own, 0, short_of);
  if (weight) short_of = short_of * unsqueeze(gather(*weight, y, 0), {1});
  return finished(short_of, x, {1}, target.rank() > 0, kind);
}

// Pairs of a target and another class. A row of targets ends at its first -1.
Values multilabel_margin(Call& g, T self, T target, Reduction kind) {
  T x = batched(self), y = cast(batched(target), DType::Int64);
  T ends = cast(y < 0, DType::Int32);
  T valid = equal(node("CumSum", {ends, g.i64(1)}), 0);
  y = where(valid, y, 0);
  T wanted = unsqueeze(node("GatherElements", {x, y}, {{"axis", int64_t{1}}}), {2});
  valid = unsqueeze(valid, {2});
  T classes = unsqueeze(g.iota(size_of(x, 1)), {0, 1});
  T named = valid & equal(unsqueeze(y, {2}), classes);
  T is_target = reduce("ReduceMax", cast(named, DType::Int32), {1});
  T counts = valid & ~cast(is_target, DType::Bool);
  T nearer = unary("Relu", 1 - wanted + unsqueeze(x, {1}));
  T parts = where(counts, nearer, 0);
  const bool batch = self.rank() == 2;
  T flags = cast(squeeze(is_target, batch ? Ints{1} : Ints{0, 1}), x.dtype());
  return {finished(parts, x, {1, 2}, batch, kind), flags};
}

constexpr Lowering table[] = {
    op<multi_margin>(
        "aten::multi_margin_loss(Tensor self, Tensor target, Scalar p=1, Scalar margin=1, Tensor? weight=None, int reduction=1) -> Tensor"),
    op("aten::multilabel_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
       [](Call& g, T x, T y, Reduction kind) { return multilabel_margin(g, x, y, kind)[0]; }),
    op<multilabel_margin>(
        "aten::multilabel_margin_loss_forward(Tensor self, Tensor target, int reduction) -> (Tensor output, Tensor is_target)"),
};

}  // namespace

Table margin_loss_rows() { return table; }

}  // namespace oe::lower
