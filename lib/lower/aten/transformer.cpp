// The fused operators that nn.MultiheadAttention and nn.TransformerEncoderLayer run in inference
// mode (aten/src/ATen/native/transformers). Nested tensors never get here: capture refuses them.
#include <cmath>

#include "lib/lower/aten/attention.h"
#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

using MaybeValue = std::optional<T>;

// Masks say what to leave out: type 0 is [T, T], type 1 [B, T] over the keys, type 2 lines up with
// [B, heads, T, T] already. A row without any key left gives NaN, as in the kernel.
T mask_bias(Call& g, MaybeValue mask, std::optional<int64_t> type, DType t) {
  if (!mask) return nullptr;
  T m = cast(*mask, DType::Bool);
  if (type == 1) m = unsqueeze(m, {1, 2});
  return bias_from_mask(g, ~m, t);
}

// [B, T, D] -> [B, heads, T, D / heads]
T to_heads(T x, int64_t dim, int64_t heads) {
  return transpose(reshape(x, Ints{0, 0, heads, dim / heads}), {0, 2, 1, 3});
}

T affine(T x, T w, T b) { return matmul(x, transpose(w, {1, 0})) + b; }

struct Heads {
  int64_t dim, count;
  T qkv_weight, qkv_bias, proj_weight, proj_bias;
};

Attention multi_head(T q, T k, T v, const Heads& h, T bias) {
  Values parts;
  if (q == k && k == v) {
    parts = split(affine(q, h.qkv_weight, h.qkv_bias), 2, {h.dim, h.dim, h.dim});
  } else {
    Values w = split(h.qkv_weight, 0, {h.dim, h.dim, h.dim});
    Values b = split(h.qkv_bias, 0, {h.dim, h.dim, h.dim});
    parts = {affine(q, w[0], b[0]), affine(k, w[1], b[1]), affine(v, w[2], b[2])};
  }
  for (T& p : parts) p = to_heads(p, h.dim, h.count);
  const double scale = 1 / std::sqrt(static_cast<double>(h.dim / h.count));
  Attention a = attend(parts[0], parts[1], parts[2], 4, 4, scale, bias, false);
  T joined = reshape(transpose(a.output, {0, 2, 1, 3}), Ints{0, 0, h.dim});
  a.output = affine(joined, h.proj_weight, h.proj_bias);
  return a;
}

T layer_norm(T x, T w, T b, double eps) {
  if (x.dtype() != DType::Double)
    return node("LayerNormalization", {x, w, b},
                {{"axis", int64_t{2}}, {"epsilon", static_cast<float>(eps)}});
  T centered = x - reduce("ReduceMean", x, {2});
  T variance = reduce("ReduceMean", centered * centered, {2});
  T y = centered / sqrt(variance + eps);
  return y * w + b;
}

struct Layer {
  Heads heads;
  bool gelu, norm_first;
  double eps;
  T norm_weight[2], norm_bias[2], ffn_weight[2], ffn_bias[2];
};

T encoder_layer(T src, const Layer& l, T bias) {
  auto norm = [&](T x, int i) { return layer_norm(x, l.norm_weight[i], l.norm_bias[i], l.eps); };
  T x = l.norm_first ? norm(src, 0) : src;
  x = multi_head(x, x, x, l.heads, bias).output + src;
  if (!l.norm_first) x = norm(x, 0);
  T y = affine(l.norm_first ? norm(x, 1) : x, l.ffn_weight[0], l.ffn_bias[0]);
  y = node(l.gelu ? "Gelu" : "Relu", {y});
  y = affine(y, l.ffn_weight[1], l.ffn_bias[1]) + x;
  return l.norm_first ? y : norm(y, 1);
}

constexpr Lowering table[] = {
    op("aten::_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)",
       [](Call& g, T q, T k, T v, int64_t dim, int64_t heads, T qkv_w, T qkv_b, T proj_w, T proj_b,
          MaybeValue mask, bool need_weights, bool average, std::optional<int64_t> mask_type) {
         T bias = mask_bias(g, mask, mask_type, g.result_dtype());
         Attention a = multi_head(q, k, v, {dim, heads, qkv_w, qkv_b, proj_w, proj_b}, bias);
         if (!need_weights) return Values{a.output, nullptr};
         return Values{a.output, average ? reduce("ReduceMean", a.weights, {1}, false) : a.weights};
       }),
    op("aten::_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, Tensor? mask=None, int? mask_type=None) -> Tensor",
       [](Call& g, T src, int64_t dim, int64_t heads, T qkv_w, T qkv_b, T proj_w, T proj_b,
          bool gelu, bool norm_first, double eps, T nw1, T nb1, T nw2, T nb2, T fw1, T fb1, T fw2,
          T fb2, MaybeValue mask, std::optional<int64_t> mask_type) {
         const Layer l{{dim, heads, qkv_w, qkv_b, proj_w, proj_b},
                       gelu,
                       norm_first,
                       eps,
                       {nw1, nw2},
                       {nb1, nb2},
                       {fw1, fw2},
                       {fb1, fb2}};
         return encoder_layer(src, l, mask_bias(g, mask, mask_type, g.result_dtype()));
       }),
};

}  // namespace

Table transformer_rows() { return table; }

}  // namespace oe::lower
