// Table look-ups and their pooled form.
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

enum Mode : int64_t { kSum = 0, kMean = 1, kMax = 2 };

struct Bag {
  T weight, indices, offsets;
  int64_t mode;
  std::optional<T> per_sample;
  bool include_last_offset;
  std::optional<int64_t> padding;
};

// Bag b holds indices [offsets[b], offsets[b + 1]); what `padding` names is left out. Membership
// is a matrix [bags, indices], so that sums are one product and no loop is needed.
Values embedding_bag(Call& g, const Bag& a) {
  const DType t = a.weight.dtype();
  T indices = cast(a.indices, DType::Int64), offsets = cast(a.offsets, DType::Int64);
  if (indices.rank() != 1) throw Unsupported("embedding_bag with indices of rank 2");
  T n = size(a.indices, 0);
  // The end of each bag is the next one's start; the last one ends with the indices.
  T starts = offsets, ends = nullptr;
  T tail = node("Slice",
                {offsets, g.i64s({1}), g.i64s({std::numeric_limits<int64_t>::max()}), g.i64s({0})});
  if (a.include_last_offset) {
    starts = node("Slice", {offsets, g.i64s({0}), g.i64s({-1}), g.i64s({0})});
    ends = tail;
  } else {
    ends = concat({tail, unsqueeze(n, {0})}, 0);
  }
  T at = unsqueeze(g.iota(size_of(a.indices, 0)), {0});
  T inside = ~(at < unsqueeze(starts, {1})) & (at < unsqueeze(ends, {1}));
  if (a.padding) {
    int64_t p = *a.padding;
    if (p < 0) {
      auto rows = a.weight.dim(0);
      if (!rows) throw Unsupported("a negative padding_idx with a table whose size is not known");
      p += *rows;
    }
    T real = ~equal(indices, p);
    inside = inside & unsqueeze(real, {0});
  }
  T rows = gather(a.weight, indices, 0);
  if (a.per_sample) rows = rows * unsqueeze(cast(*a.per_sample, t), {1});
  T member = cast(inside, t);
  T out = nullptr;
  if (a.mode == kMax) {
    T least = number(-std::numeric_limits<double>::infinity(), rows);
    T each = where(unsqueeze(inside, {2}), unsqueeze(rows, {0}), least);
    out = reduce("ReduceMax", each, {1}, false);
    T any = reduce("ReduceMax", member, {1});
    out = where(cast(any, DType::Bool), out, 0);
  } else {
    out = matmul(member, rows);
    if (a.mode == kMean) {
      T count = reduce("ReduceSum", member, {1});
      out = out / maximum(count, 1);
    }
  }
  return {out, nullptr, nullptr, nullptr};  // the others serve the backward pass
}

constexpr Lowering table[] = {
    // padding_idx, scale_grad_by_freq and sparse concern gradients only.
    op("aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False, bool sparse=False) -> Tensor",
       [](T weight, T indices, Rest) { return gather(weight, indices, 0); }),
    op("aten::embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)",
       [](Call& g, T weight, T indices, T offsets, Skip, int64_t mode, Skip,
          std::optional<T> per_sample, bool last) {
         return embedding_bag(g, {weight, indices, offsets, mode, per_sample, last, std::nullopt});
       }),
    op("aten::embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)",
       [](Call& g, T weight, T indices, T offsets, Skip, int64_t mode, Skip,
          std::optional<T> per_sample, bool last, std::optional<int64_t> padding) {
         return embedding_bag(g, {weight, indices, offsets, mode, per_sample, last, padding});
       }),
};

}  // namespace

Table embedding_rows() { return table; }

}  // namespace oe::lower
