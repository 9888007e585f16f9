// Axes of broadcasts, and of results that have the axes of an argument.
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "lib/capture/operators/axes/axes.h"

namespace oe::capture {
namespace {

// Whether the worlds' sizes say which axis is which: every axis has had two sizes, and no two axes
// have had the same ones throughout.
bool told_apart(const AxisCall& c, const std::vector<const TensorValue*>& in) {
  std::map<int, std::vector<int64_t>> sizes;
  for (const TensorValue* t : in)
    for (size_t i = 0; i < t->axes.size(); ++i) {
      if (t->axes[i].is_static()) continue;
      auto [at, fresh] = sizes.try_emplace(t->axes[i].id);
      for (size_t w = 0; fresh && w < c.worlds; ++w)
        if (c.out.has(w) && t->c.has(w))
          at->second.push_back(t->c.at(w).toTensor().size(static_cast<int64_t>(i)));
    }
  std::set<std::vector<int64_t>> seen;
  return std::ranges::all_of(sizes, [&](const auto& e) {
    const bool varies = std::ranges::adjacent_find(e.second, std::not_equal_to{}) != e.second.end();
    return varies && seen.insert(e.second).second;
  });
}

// Whether no tensor brings dynamic axes that the first one does not have.
bool first_has_all(const std::vector<const TensorValue*>& in) {
  std::set<int> of_first;
  for (const Axis& a : in[0]->axes) of_first.insert(a.id);
  return std::ranges::all_of(in, [&](const TensorValue* t) {
    return std::ranges::all_of(
        t->axes, [&](const Axis& a) { return a.is_static() || of_first.contains(a.id); });
  });
}

// Whether a number that is computed may be a size, or say which axis or form it is: it is no value
// that elements get (Scalar, float).
bool numbers_decide(const AxisCall& c) {
  const auto& parameters = c.op.schema->arguments();
  for (size_t i = 0; i < c.args.size() && i < parameters.size(); ++i) {
    const AbstractValue& a = c.args[i];
    c10::TypePtr type = parameters[i].type();
    if (const auto optional = type->cast<c10::OptionalType>()) type = optional->getElementType();
    if (a.is_number() && a.taint != Taint::Constant &&
        (type->kind() == c10::TypeKind::IntType || type->kind() == c10::TypeKind::BoolType))
      return true;
    if (a.is(K::List) && std::ranges::any_of(a.list()->items, [](const AbstractValue& e) {
          return e.is_number() && e.taint != Taint::Constant;
        }))
      return true;
  }
  return false;
}

Axes first(const AxisCall& c) { return c.self().axes; }

// The first result has the input's axes, the others are as long as its channels.
Axes normalised(const AxisCall& c) { return c.index == 0 ? first(c) : by_sizes(c); }

// Along axis -1 all of the weight is one.
Axes weight_normed(const AxisCall& c) {
  return c.computed({"dim"}) ? unknown_rank(c) : by_sizes(c);
}

Axes other(const AxisCall& c) { return c.read(*c.arg("other"))->axes; }

Axes masked(const AxisCall& c) {
  return broadcast_axes(c, {&c.self(), &c.tensor({"mask"})}, c.rank);
}

// Of every tensor argument. `where(condition)` alone gives places instead.
Axes broadcasted(const AxisCall& c) {
  std::vector<const TensorValue*> tensors;
  for (const TensorValuePtr& v : c.values)
    if (v) tensors.push_back(v.get());
  if (c.args.size() == 1) return std::nullopt;
  return broadcast_axes(c, tensors, c.rank);
}

constexpr AxisRow kElementwise[] = {
    {"aten::int_repr", first},
    {"aten::_make_per_tensor_quantized_tensor", first},
    {"aten::_make_per_channel_quantized_tensor", first},
    {"quantized_decomposed::quantize_per_tensor", first},
    {"quantized_decomposed::quantize_per_channel", first},
    {"quantized_decomposed::dequantize_per_tensor", first},
    {"quantized_decomposed::dequantize_per_channel", first},
    {"aten::select_scatter", first},
    {"aten::slice_scatter", first},
    {"aten::diagonal_scatter", first},
    {"aten::as_strided_scatter", first},
    {"aten::index_put", first},
    {"aten::_index_put_impl", first},
    {"aten::_unsafe_index_put", first},
    {"aten::scatter", first},
    {"aten::scatter_add", first},
    {"aten::scatter_reduce", first},
    {"aten::index_copy", first},
    {"aten::index_fill", first},
    {"aten::index_add", first},
    {"aten::index_reduce", first},
    {"aten::put", first},
    {"aten::copy", first},
    {"aten::fill", first},
    {"aten::zero", first},
    {"aten::_fft_c2c", first},
    {"aten::_conj", first},
    {"aten::_neg_view", first},
    {"aten::roll", first},
    {"aten::flip", first},
    {"aten::fliplr", first},
    {"aten::flipud", first},
    {"aten::cumsum", first},
    {"aten::cumprod", first},
    {"aten::cummax", first},
    {"aten::cummin", first},
    {"aten::logcumsumexp", first},
    {"aten::softmax", first},
    {"aten::log_softmax", first},
    {"aten::_softmax", first},
    {"aten::_log_softmax", first},
    {"aten::triu", first},
    {"aten::tril", first},
    {"aten::dropout", first},
    {"aten::feature_dropout", first},
    {"aten::alpha_dropout", first},
    {"aten::batch_norm", first},
    {"aten::layer_norm", first},
    {"aten::group_norm", first},
    {"aten::instance_norm", first},
    {"aten::rms_norm", first},
    {"aten::to", first},
    {"aten::type_as", first},
    {"aten::_to_copy", first},
    {"aten::contiguous", first},
    {"aten::clone", first},
    {"aten::detach", first},
    {"aten::alias", first},
    {"aten::sort", first},
    {"aten::argsort", first},
    {"aten::relu", first},
    {"aten::_transformer_encoder_layer_fwd", first},
    {"aten::normal_functional", first},
    {"aten::uniform", first},
    {"aten::expand_as", other},
    {"aten::view_as", other},
    {"aten::reshape_as", other},
    {"aten::masked_fill", masked},
    {"aten::masked_scatter", masked},
    // Broadcasts that LibTorch does not tag as pointwise, and results like the first argument.
    {"aten::hardswish", first},
    {"aten::prelu", first},
    {"aten::_prelu_kernel", broadcasted},
    {"aten::log_sigmoid", first},
    {"aten::log_sigmoid_forward", first},
    {"aten::native_dropout", first},
    {"aten::feature_alpha_dropout", first},
    {"aten::floor_divide", broadcasted},
    {"aten::isclose", broadcasted},
    {"aten::isreal", first},
    {"aten::__and__", broadcasted},
    {"aten::__or__", broadcasted},
    {"aten::where", broadcasted, "condition"},
    {"aten::cpu", first},
    {"aten::_cast_Byte", first},
    {"aten::_cast_Char", first},
    {"aten::_cast_Double", first},
    {"aten::_cast_Float", first},
    {"aten::_cast_Half", first},
    {"aten::_cast_Int", first},
    {"aten::_cast_Long", first},
    {"aten::_cast_Short", first},
    {"aten::zeros_like", first},
    {"aten::ones_like", first},
    {"aten::empty_like", first},
    {"aten::full_like", first},
    {"aten::as_tensor", by_sizes},
    {"aten::rand_like", first},
    {"aten::randn_like", first},
    {"aten::randint_like", first},
    {"aten::bernoulli", first},
    {"aten::exponential", first},
    {"aten::native_batch_norm", by_sizes},
    {"aten::_native_batch_norm_legit_no_training", by_sizes},
    {"aten::_native_batch_norm_legit", by_sizes},
    {"aten::_native_batch_norm_legit_functional", normalised},
    {"aten::native_layer_norm", by_sizes},
    {"aten::native_group_norm", by_sizes},
    {"aten::_weight_norm", weight_normed},
    {"aten::_weight_norm_interface", by_sizes},
    {"aten::channel_shuffle", by_sizes},
    {"aten::native_channel_shuffle", by_sizes},
    {"aten::detach_copy", first},
    {"aten::alias_copy", first},
    {"aten::lift", first},
    {"aten::lift_fresh", first},
    {"aten::lift_fresh_copy", first},
    {"aten::conj", first},
    {"aten::resolve_conj", first},
    {"aten::resolve_neg", first},
    {"aten::take", by_sizes},
    {"aten::take_along_dim", by_sizes},
    {"aten::msort", by_sizes},
    {"aten::searchsorted", by_sizes},
    {"aten::bucketize", by_sizes},
    {"aten::isin", by_sizes},
    // Sizes of their own, for which there is no rule: known where all worlds tell.
    {"aten::empty_strided", by_sizes},
    {"aten::new_empty_strided", by_sizes},
    {"aten::_dim_arange", by_sizes},
    {"aten::scalar_tensor", by_sizes},
    {"aten::tensor", by_sizes},
    {"aten::multinomial", by_sizes},
    {"aten::_shape_as_tensor", by_sizes},
    {"aten::conv_tbc", by_sizes},
    {"aten::vdot", by_sizes},
    {"aten::inner", by_sizes},
    {"aten::chain_matmul", by_sizes},
    {"aten::linalg_multi_dot", by_sizes},
    {"aten::tensordot", by_sizes},
    {"aten::bilinear", by_sizes},
    {"aten::_native_multi_head_attention", by_sizes},
    {"aten::mse_loss", by_sizes},
    {"aten::l1_loss", by_sizes},
    {"aten::smooth_l1_loss", by_sizes},
    {"aten::huber_loss", by_sizes},
    {"aten::kl_div", by_sizes},
    {"aten::binary_cross_entropy", by_sizes},
    {"aten::binary_cross_entropy_with_logits", by_sizes},
    {"aten::poisson_nll_loss", by_sizes},
    {"aten::hinge_embedding_loss", by_sizes},
    {"aten::soft_margin_loss", by_sizes},
    {"aten::cosine_embedding_loss", by_sizes},
    {"aten::nll_loss", by_sizes},
    {"aten::nll_loss2d", by_sizes},
    {"aten::nll_loss_nd", by_sizes},
    {"aten::nll_loss_forward", by_sizes},
    {"aten::nll_loss2d_forward", by_sizes},
    {"aten::cross_entropy_loss", by_sizes},
    {"aten::multi_margin_loss", by_sizes},
    {"aten::multilabel_margin_loss", by_sizes},
    {"aten::multilabel_margin_loss_forward", by_sizes},
    {"aten::broadcast_tensors", by_sizes},
    {"aten::atleast_1d", by_sizes},
    {"aten::atleast_2d", by_sizes},
    {"aten::atleast_3d", by_sizes},
    {"aten::unfold_copy", by_sizes},
    {"aten::meshgrid", by_sizes},
    {"aten::combinations", by_sizes},
    {"aten::tril_indices", by_sizes},
    {"aten::triu_indices", by_sizes},
    {"aten::diag_embed", by_sizes},
    {"aten::nanquantile", by_sizes},
    {"aten::_pad_enum", by_sizes},
};

}  // namespace

Axes by_sizes(const AxisCall& c) {
  if (!c.op.pointwise && numbers_decide(c)) return std::nullopt;
  std::vector<const TensorValue*> tensors;
  std::function<void(const AbstractValue&)> add = [&](const AbstractValue& s) {
    if (s.is(K::Tensor)) tensors.push_back(c.read(s).get());
    if (s.is(K::List))
      for (const AbstractValue& e : s.list()->items) add(e);
  };
  for (const AbstractValue& a : c.args) add(a);
  if (tensors.empty()) return std::nullopt;
  auto fits = [&](const std::vector<const TensorValue*>& in) {
    for (size_t w = 0; w < c.worlds; ++w) {
      if (!c.out.has(w)) continue;
      for (size_t i = 0; i < c.rank; ++i) {
        int64_t size = 1;
        for (const TensorValue* t : in) {
          if (!t->ranked || t->axes.size() > c.rank) return false;
          if (t->axes.size() + i < c.rank || !t->c.has(w)) continue;
          const int64_t n =
              t->c.at(w).toTensor().size(static_cast<int64_t>(t->axes.size() + i - c.rank));
          if (n != 1 && size != 1 && n != size) return false;
          if (n != 1) size = n;
        }
        if (size != c.size(w, i)) return false;
      }
    }
    return true;
  };
  // cdist of [n, k] and [m, k] looks like one of its operands where n = m = k in every world.
  if (!c.op.pointwise && !told_apart(c, tensors)) return std::nullopt;
  if (fits(tensors)) return broadcast_axes(c, tensors, c.rank);
  if (tensors[0]->axes.size() == c.rank && first_has_all(tensors) && fits({tensors[0]}))
    return tensors[0]->axes;
  return std::nullopt;
}

std::span<const AxisRow> elementwise_axes() { return kElementwise; }

}  // namespace oe::capture
