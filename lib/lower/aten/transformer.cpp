// The fused operators that nn.MultiheadAttention and nn.TransformerEncoderLayer run in inference
// mode (aten/src/ATen/native/transformers). Nested tensors never get here: capture refuses them.
#include <cmath>

#include "lib/lower/aten/attention.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using namespace nn;
using MaybeValue = std::optional<Value>;

// Masks say what to leave out: type 0 is [T, T], type 1 [B, T] over the keys, type 2 lines up with
// [B, heads, T, T] already. A row without any key left gives NaN, as in the kernel.
Value mask_bias(Emit& g, MaybeValue mask, std::optional<int64_t> type, DType t) {
  if (!mask) return nullptr;
  Value m = g.cast(*mask, DType::Bool);
  if (type == 1) m = unsqueeze(g, m, {1, 2});
  return bias_from_mask(g, g.node("Not", {m}), t);
}

// [B, T, D] -> [B, heads, T, D / heads]
Value to_heads(Emit& g, Value x, int64_t dim, int64_t heads) {
  return transpose(g, reshape(g, x, Ints{0, 0, heads, dim / heads}), {0, 2, 1, 3});
}

Value affine(Emit& g, Value x, Value w, Value b) {
  return add(g, matmul(g, x, transpose(g, w, {1, 0})), b);
}

struct Heads {
  int64_t dim, count;
  Value qkv_weight, qkv_bias, proj_weight, proj_bias;
};

Attention multi_head(Emit& g, Value q, Value k, Value v, const Heads& h, Value bias) {
  Values parts;
  if (q == k && k == v) {
    parts = split(g, affine(g, q, h.qkv_weight, h.qkv_bias), 2, {h.dim, h.dim, h.dim});
  } else {
    Values w = split(g, h.qkv_weight, 0, {h.dim, h.dim, h.dim});
    Values b = split(g, h.qkv_bias, 0, {h.dim, h.dim, h.dim});
    parts = {affine(g, q, w[0], b[0]), affine(g, k, w[1], b[1]), affine(g, v, w[2], b[2])};
  }
  for (Value& p : parts) p = to_heads(g, p, h.dim, h.count);
  const double scale = 1 / std::sqrt(static_cast<double>(h.dim / h.count));
  Attention a = attend(g, parts[0], parts[1], parts[2], 4, 4, scale, bias, false);
  Value joined = reshape(g, transpose(g, a.output, {0, 2, 1, 3}), Ints{0, 0, h.dim});
  a.output = affine(g, joined, h.proj_weight, h.proj_bias);
  return a;
}

Value layer_norm(Emit& g, Value x, Value w, Value b, double eps) {
  if (g.dtype(x) != DType::Double)
    return g.node("LayerNormalization", {x, w, b},
                  {{"axis", int64_t{2}}, {"epsilon", static_cast<float>(eps)}});
  Value centered = sub(g, x, reduce(g, "ReduceMean", x, {2}));
  Value variance = reduce(g, "ReduceMean", mul(g, centered, centered), {2});
  Value y = div(g, centered, sqrt(g, add(g, variance, num(g, eps, x))));
  return add(g, mul(g, y, w), b);
}

struct Layer {
  Heads heads;
  bool gelu, norm_first;
  double eps;
  Value norm_weight[2], norm_bias[2], ffn_weight[2], ffn_bias[2];
};

Value encoder_layer(Emit& g, Value src, const Layer& l, Value bias) {
  auto norm = [&](Value x, int i) {
    return layer_norm(g, x, l.norm_weight[i], l.norm_bias[i], l.eps);
  };
  Value x = l.norm_first ? norm(src, 0) : src;
  x = add(g, multi_head(g, x, x, x, l.heads, bias).output, src);
  if (!l.norm_first) x = norm(x, 0);
  Value y = affine(g, l.norm_first ? norm(x, 1) : x, l.ffn_weight[0], l.ffn_bias[0]);
  y = g.node(l.gelu ? "Gelu" : "Relu", {y});
  y = add(g, affine(g, y, l.ffn_weight[1], l.ffn_bias[1]), x);
  return l.norm_first ? y : norm(y, 1);
}

constexpr Lowering table[] = {
    op("aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
       [](Emit& g, Value q, Value k, Value v, int64_t dim, int64_t heads, Value qkv_w, Value qkv_b,
          Value proj_w, Value proj_b, MaybeValue mask, bool need_weights, bool average,
          std::optional<int64_t> mask_type) {
         Value bias = mask_bias(g, mask, mask_type, g.result_dtype());
         Attention a = multi_head(g, q, k, v, {dim, heads, qkv_w, qkv_b, proj_w, proj_b}, bias);
         if (!need_weights) return Values{a.output, nullptr};
         return Values{a.output,
                       average ? reduce(g, "ReduceMean", a.weights, {1}, false) : a.weights};
       }),
    op("aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
       [](Emit& g, Value src, int64_t dim, int64_t heads, Value qkv_w, Value qkv_b, Value proj_w,
          Value proj_b, bool gelu, bool norm_first, double eps, Value nw1, Value nb1, Value nw2,
          Value nb2, Value fw1, Value fb1, Value fw2, Value fb2, MaybeValue mask,
          std::optional<int64_t> mask_type) {
         const Layer l{{dim, heads, qkv_w, qkv_b, proj_w, proj_b},
                       gelu,
                       norm_first,
                       eps,
                       {nw1, nw2},
                       {nb1, nb2},
                       {fw1, fw2},
                       {fb1, fb2}};
         return encoder_layer(g, src, l, mask_bias(g, mask, mask_type, g.result_dtype()));
       }),
};

}  // namespace

Table transformer_rows() { return table; }

}  // namespace oe::lower
