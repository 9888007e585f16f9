// Scaled dot product attention by products and a softmax. ONNX's Attention (opset 23) takes four
// axes only and leaves open what a row is whose keys are all masked; ONNX Runtime's kernel of it
// refuses an empty batch and is not faster.
#include "lib/lower/aten/attention.h"

#include <cmath>
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

T scaled(T q, int64_t rank, std::optional<double> scale) {
  if (!scale)
    if (auto e = q.dim(rank - 1)) scale = 1 / std::sqrt(static_cast<double>(*e));
  if (scale) return q * *scale;
  T e = cast(size(q, rank - 1), q.dtype());
  return q / sqrt(e);
}

}  // namespace

Attention attend(T q, T k, T v, int64_t rank_q, int64_t rank_k, std::optional<double> scale, T bias,
                 bool safe) {
  const int64_t rank = std::max(rank_q, rank_k);
  T scores = matmul(scaled(q, rank_q, scale), swap(k, rank_k, rank_k - 2, rank_k - 1));
  if (bias) scores = scores + bias;
  // The bias may come out of a branch without a rank; the scores have one all the same, and below
  // opset 13 the softmax has to know it.
  if (!scores->type.shape) scores->type.shape = std::vector<Dim>(static_cast<size_t>(rank));
  T weights = node("Softmax", {scores}, {{"axis", rank - 1}});
  // The weight of a key that is masked is 0 already, save in a row that sees no key. A row with NaN
  // keeps it at its other keys, and so in the output.
  if (safe && bias) weights = where(equal(scores, -kInfinity), 0, weights);
  return {matmul(weights, v), weights};
}

T bias_from_mask(Call& g, T mask, DType t) {
  return where(mask, g.number(0, t), g.number(-kInfinity, t));
}

namespace {

struct Options {
  std::optional<T> mask;
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale;
  bool grouped = false;
};

// Key step s is seen by query step l when s <= l.
T causal_bias(Call& g, T q, T k, int64_t rank_q, int64_t rank_k, DType t) {
  T row = unsqueeze(g.iota(size_of(q, rank_q - 2)), {1});
  T column = unsqueeze(g.iota(size_of(k, rank_k - 2)), {0});
  return where(row < column, g.number(-kInfinity, t), g.number(0, t));
}

// Repeats the heads (axis rank-3) of keys or values until there are as many as query heads.
T repeat_heads(T v, int64_t rank, T q) {
  auto have = v.dim(rank - 3), want = q.dim(q.rank() - 3);
  if (!have || !want) throw Unsupported("enable_gqa with a number of heads that is not known");
  if (*have == *want) return v;
  const int64_t axis = rank - 3;
  Ints ones(static_cast<size_t>(rank + 1), 1);
  ones[static_cast<size_t>(axis + 1)] = *want / *have;
  Dims shape = sizes_of(v, rank);
  shape[static_cast<size_t>(axis)] = known(*want);
  return reshape(expand(unsqueeze(v, {axis + 1}), to_dims(ones)), shape);
}

Attention attention(Call& g, T q, T k, T v, const Options& o, bool bool_is_mask) {
  if (o.dropout != 0) throw Unsupported("attention dropout is random");
  const DType t = g.result_dtype();
  const int64_t rq = q.rank(), rk = k.rank(), rv = v.rank();
  if (o.grouped) {
    k = repeat_heads(k, rk, q);
    v = repeat_heads(v, rv, q);
  }
  T bias = nullptr;
  if (o.mask)
    bias = o.mask->dtype() == DType::Bool && bool_is_mask ? bias_from_mask(g, *o.mask, t)
                                                          : cast(*o.mask, t);
  if (o.causal) {
    T c = causal_bias(g, q, k, rq, rk, t);
    bias = bias ? bias + c : c;
  }
  return attend(q, k, v, rq, rk, o.scale, bias, o.mask.has_value());
}

constexpr Lowering table[] = {
    op("aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
       [](Call& g, T q, T k, T v, std::optional<T> mask, double dropout, bool causal,
          std::optional<double> scale, bool grouped) {
         return attention(g, q, k, v, {mask, dropout, causal, scale, grouped}, true).output;
       }),
    // A bool mask is added as numbers here: only the operator above turns it into -inf.
    op("aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
       [](Call& g, T q, T k, T v, std::optional<T> mask, double dropout, bool causal,
          std::optional<T> dropout_mask, std::optional<double> scale, bool grouped) {
         if (dropout_mask) throw Unsupported("attention dropout is random");
         Attention a = attention(g, q, k, v, {mask, dropout, causal, scale, grouped}, false);
         return Values{a.output, a.weights};
       }),
    op("aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
       [](Call& g, T q, T k, T v, double dropout, bool causal, std::optional<T> mask,
          std::optional<double> scale) {
         return Values{attention(g, q, k, v, {mask, dropout, causal, scale, false}, true).output,
                       nullptr};
       }),
};

}  // namespace

Table attention_rows() { return table; }

}  // namespace oe::lower
