// Table look-ups and their pooled form.
#include <limits>

#include "lib/lower/aten/nn_build.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bag {
  Value weight, indices, offsets;
  int64_t mode;
  std::optional<Value> per_sample;
  bool include_last_offset;
  std::optional<int64_t> padding;
};

// Bag b holds indices [offsets[b], offsets[b + 1]); what `padding` names is left out. Membership
// is a matrix [bags, indices], so that sums are one product and no loop is needed.
Values embedding_bag(Emit& g, const Bag& a) {
  const DType t = g.dtype(a.weight);
  Value indices = g.cast(a.indices, DType::Int64), offsets = g.cast(a.offsets, DType::Int64);
  if (g.rank(indices) != 1) throw Unsupported("embedding_bag with indices of rank 2");
  Value n = g.size(a.indices, 0);
  // The end of each bag is the next one's start; the last one ends with the indices.
  Value starts = offsets, ends = nullptr;
  Value tail = g.node(
      "Slice", {offsets, g.i64s({1}), g.i64s({std::numeric_limits<int64_t>::max()}), g.i64s({0})});
  if (a.include_last_offset) {
    starts = g.node("Slice", {offsets, g.i64s({0}), g.i64s({-1}), g.i64s({0})});
    ends = tail;
  } else {
    ends = concat(g, {tail, unsqueeze(g, n, {0})}, 0);
  }
  Value at = unsqueeze(g, iota(g, dim(g, a.indices, 0)), {0});
  Value inside = g.node("And", {g.node("Not", {g.node("Less", {at, unsqueeze(g, starts, {1})})}),
                                g.node("Less", {at, unsqueeze(g, ends, {1})})});
  if (a.padding) {
    int64_t p = *a.padding;
    if (p < 0) {
      auto rows = g.dim(a.weight, 0);
      if (!rows) throw Unsupported("a negative padding_idx with a table whose size is not known");
      p += *rows;
    }
    Value real = g.node("Not", {g.node("Equal", {indices, g.i64(p)})});
    inside = g.node("And", {inside, unsqueeze(g, real, {0})});
  }
  Value rows = gather(g, a.weight, indices, 0);
  if (a.per_sample) rows = mul(g, rows, unsqueeze(g, g.cast(*a.per_sample, t), {1}));
  Value member = g.cast(inside, t);
  Value out = nullptr;
  if (a.mode == kMax) {
    Value least = num(g, -std::numeric_limits<double>::infinity(), rows);
    Value each = where(g, unsqueeze(g, inside, {2}), unsqueeze(g, rows, {0}), least);
    out = reduce(g, "ReduceMax", each, {1}, false);
    Value any = reduce(g, "ReduceMax", member, {1});
    out = where(g, g.cast(any, DType::Bool), out, num(g, 0, out));
  } else {
    out = matmul(g, member, rows);
    if (a.mode == kMean) {
      Value count = reduce(g, "ReduceSum", member, {1});
      out = div(g, out, g.node("Max", {count, num(g, 1, count)}));
    }
  }
  return {out, nullptr, nullptr, nullptr};  // the others serve the backward pass
}

constexpr Lowering table[] = {
    // padding_idx, scale_grad_by_freq and sparse concern gradients only.
    op("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       [](Emit& g, Value weight, Value indices, Skip, Skip, Skip) {
         return gather(g, weight, indices, 0);
       }),
    op("aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
       [](Emit& g, Value weight, Value indices, Value offsets, Skip, int64_t mode, Skip,
          std::optional<Value> per_sample, bool last) {
         return embedding_bag(g, {weight, indices, offsets, mode, per_sample, last, std::nullopt});
       }),
    op("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
       [](Emit& g, Value weight, Value indices, Value offsets, Skip, int64_t mode, Skip,
          std::optional<Value> per_sample, bool last, std::optional<int64_t> padding) {
         return embedding_bag(g, {weight, indices, offsets, mode, per_sample, last, padding});
       }),
};

}  // namespace

Table embedding_rows() { return table; }

}  // namespace oe::lower
