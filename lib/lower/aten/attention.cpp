// Scaled dot product attention. ONNX has an operator from opset 23; products and a softmax say the
// same at every opset.
#include "lib/lower/aten/attention.h"

#include <cmath>
#include <limits>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace nn {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Value scaled(Emit& g, Value q, int64_t rank, std::optional<double> scale) {
  if (!scale)
    if (auto e = g.dim(q, rank - 1)) scale = 1 / std::sqrt(static_cast<double>(*e));
  if (scale) return mul(g, q, num(g, *scale, q));
  Value e = g.cast(g.size(q, rank - 1), g.dtype(q));
  return div(g, q, sqrt(g, e));
}

}  // namespace

Attention attend(Emit& g, Value q, Value k, Value v, int64_t rank_q, int64_t rank_k,
                 std::optional<double> scale, Value bias, bool safe) {
  const int64_t rank = std::max(rank_q, rank_k);
  Value scores = matmul(g, scaled(g, q, rank_q, scale), swap(g, k, rank_k, rank_k - 2, rank_k - 1));
  if (bias) scores = add(g, scores, bias);
  // The bias may come out of a branch without a rank; the scores have one all the same, and below
  // opset 13 the softmax has to know it.
  if (!scores->type.shape) scores->type.shape = std::vector<Dim>(static_cast<size_t>(rank));
  Value weights = g.node("Softmax", {scores}, {{"axis", rank - 1}});
  if (safe && bias) {
    Value top = reduce(g, "ReduceMax", scores, {rank - 1});
    weights = where(g, g.node("Equal", {top, num(g, -kInfinity, top)}), num(g, 0, top), weights);
  }
  return {matmul(g, weights, v), weights};
}

Value bias_from_mask(Emit& g, Value mask, DType t) {
  return where(g, mask, g.number(0, t), g.number(-kInfinity, t));
}

}  // namespace nn

namespace {

using namespace nn;

struct Options {
  std::optional<Value> mask;
  double dropout = 0;
  bool causal = false;
  std::optional<double> scale;
  bool grouped = false;
};

// Key step s is seen by query step l when s <= l.
Value causal_bias(Emit& g, Value q, Value k, int64_t rank_q, int64_t rank_k, DType t) {
  Value row = unsqueeze(g, iota(g, dim(g, q, rank_q - 2)), {1});
  Value column = unsqueeze(g, iota(g, dim(g, k, rank_k - 2)), {0});
  return where(g, g.node("Less", {row, column}), g.number(-kInfinity, t), g.number(0, t));
}

// Repeats the heads (axis rank-3) of keys or values until there are as many as query heads.
Value repeat_heads(Emit& g, Value v, int64_t rank, Value q) {
  auto have = g.dim(v, rank - 3), want = g.dim(q, g.rank(q) - 3);
  if (!have || !want) throw Unsupported("enable_gqa with a number of heads that is not known");
  if (*have == *want) return v;
  const int64_t axis = rank - 3;
  Ints ones(static_cast<size_t>(rank + 1), 1);
  ones[static_cast<size_t>(axis + 1)] = *want / *have;
  Dims shape = dims(g, v, rank);
  shape[static_cast<size_t>(axis)] = known(*want);
  return reshape(g, expand(g, unsqueeze(g, v, {axis + 1}), to_dims(ones)), shape);
}

Attention attention(Emit& g, Value q, Value k, Value v, const Options& o, bool bool_is_mask) {
  if (o.dropout != 0) throw Unsupported("attention dropout is random");
  const DType t = g.result_dtype();
  const int64_t rq = g.rank(q), rk = g.rank(k), rv = g.rank(v);
  if (o.grouped) {
    k = repeat_heads(g, k, rk, q);
    v = repeat_heads(g, v, rv, q);
  }
  Value bias = nullptr;
  if (o.mask)
    bias = g.dtype(*o.mask) == DType::Bool && bool_is_mask ? bias_from_mask(g, *o.mask, t)
                                                           : g.cast(*o.mask, t);
  if (o.causal) {
    Value c = causal_bias(g, q, k, rq, rk, t);
    bias = bias ? add(g, bias, c) : c;
  }
  return attend(g, q, k, v, rq, rk, o.scale, bias, o.mask.has_value());
}

constexpr Lowering table[] = {
    op("aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
       [](Emit& g, Value q, Value k, Value v, std::optional<Value> mask, double dropout,
          bool causal, std::optional<double> scale, bool grouped) {
         return attention(g, q, k, v, {mask, dropout, causal, scale, grouped}, true).output;
       }),
    // A bool mask is added as numbers here: only the operator above turns it into -inf.
    op("aten::_scaled_dot_product_attention_math(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., bool is_causal=False, Tensor? dropout_mask=None, *, float? scale=None, bool enable_gqa=False) -> (Tensor, Tensor)",
       [](Emit& g, Value q, Value k, Value v, std::optional<Value> mask, double dropout,
          bool causal, std::optional<Value> dropout_mask, std::optional<double> scale,
          bool grouped) {
         if (dropout_mask) throw Unsupported("attention dropout is random");
         Attention a = attention(g, q, k, v, {mask, dropout, causal, scale, grouped}, false);
         return Values{a.output, a.weights};
       }),
    op("aten::_scaled_dot_product_flash_attention_for_cpu(Tensor query, Tensor key, Tensor value, float dropout_p=0., bool is_causal=False, *, Tensor? attn_mask=None, float? scale=None) -> (Tensor output, Tensor logsumexp)",
       [](Emit& g, Value q, Value k, Value v, double dropout, bool causal,
          std::optional<Value> mask, std::optional<double> scale) {
         return Values{attention(g, q, k, v, {mask, dropout, causal, scale, false}, true).output,
                       nullptr};
       }),
};

}  // namespace

Table attention_rows() { return table; }

}  // namespace oe::lower
