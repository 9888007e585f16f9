// Reads effects off LibTorch's schemas and finds the functional twin of every in-place operator.
#include "lib/capture/operators.h"

#include <ATen/core/dispatch/Dispatcher.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "lib/support/diagnostics.h"

namespace oe::capture {
namespace {

using torch::jit::Operator;

const std::unordered_map<std::string, AxisRule>& rules() {
  static const std::unordered_map<std::string, AxisRule> table = [] {
    std::unordered_map<std::string, AxisRule> t;
    auto add = [&](AxisRule r, std::initializer_list<const char*> names) {
      for (const char* n : names) t[std::string("aten::") + n] = r;
    };
    add(AxisRule::First, {"select_scatter",
                          "slice_scatter",
                          "diagonal_scatter",
                          "as_strided_scatter",
                          "index_put",
                          "_index_put_impl",
                          "_unsafe_index_put",
                          "scatter",
                          "scatter_add",
                          "scatter_reduce",
                          "index_copy",
                          "index_fill",
                          "index_add",
                          "index_reduce",
                          "put",
                          "copy",
                          "fill",
                          "zero",
                          "roll",
                          "flip",
                          "fliplr",
                          "flipud",
                          "cumsum",
                          "cumprod",
                          "cummax",
                          "cummin",
                          "logcumsumexp",
                          "softmax",
                          "log_softmax",
                          "_softmax",
                          "_log_softmax",
                          "softmin",
                          "triu",
                          "tril",
                          "dropout",
                          "feature_dropout",
                          "alpha_dropout",
                          "batch_norm",
                          "layer_norm",
                          "group_norm",
                          "instance_norm",
                          "rms_norm",
                          "to",
                          "type_as",
                          "_to_copy",
                          "contiguous",
                          "clone",
                          "detach",
                          "alias",
                          "sort",
                          "argsort",
                          "relu",
                          "local_response_norm",
                          "_transformer_encoder_layer_fwd",
                          "normal_functional",
                          "uniform",
                          "renorm"});
    add(AxisRule::Other, {"expand_as", "view_as", "reshape_as"});
    add(AxisRule::Convolution,
        {"conv1d", "conv2d", "conv3d", "_convolution", "convolution", "conv_transpose1d",
         "conv_transpose2d", "conv_transpose3d", "_convolution_mode", "mkldnn_convolution"});
    add(AxisRule::Pool, {"max_pool1d", "max_pool2d", "max_pool3d", "max_pool1d_with_indices",
                         "max_pool2d_with_indices", "max_pool3d_with_indices", "avg_pool1d",
                         "avg_pool2d", "avg_pool3d"});
    add(AxisRule::AdaptivePool,
        {"adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
         "adaptive_max_pool2d", "adaptive_max_pool3d", "_adaptive_avg_pool2d",
         "_adaptive_avg_pool3d", "max_unpool2d", "max_unpool3d"});
    add(AxisRule::Patches, {"im2col", "col2im"});
    add(AxisRule::Bags, {"embedding_bag", "_embedding_bag"});
    add(AxisRule::Linear, {"linear"});
    add(AxisRule::MatMul, {"matmul", "mm", "bmm", "addmm", "addmv", "addr", "addbmm", "baddbmm",
                           "mv", "dot", "linalg_matmul"});
    add(AxisRule::Attention, {"scaled_dot_product_attention", "_scaled_dot_product_attention_math",
                              "_scaled_dot_product_flash_attention_for_cpu"});
    add(AxisRule::Masked, {"masked_fill", "masked_scatter"});
    add(AxisRule::Reduce, {"sum",
                           "mean",
                           "prod",
                           "amax",
                           "amin",
                           "max",
                           "min",
                           "argmax",
                           "argmin",
                           "any",
                           "all",
                           "std",
                           "var",
                           "std_mean",
                           "var_mean",
                           "norm",
                           "frobenius_norm",
                           "nuclear_norm",
                           "linalg_vector_norm",
                           "logsumexp",
                           "median",
                           "nanmedian",
                           "mode",
                           "nansum",
                           "nanmean",
                           "count_nonzero",
                           "aminmax",
                           "kthvalue",
                           "quantile"});
    add(AxisRule::Sizes,
        {"view",       "reshape",     "_reshape_alias", "expand",   "broadcast_to", "_unsafe_view",
         "zeros",      "ones",        "full",           "empty",    "rand",         "randn",
         "randint",    "new_zeros",   "new_ones",       "new_full", "new_empty",    "normal",
         "view_copy",  "expand_copy", "arange",         "linspace", "eye",          "range",
         "as_strided", "unflatten"});
    add(AxisRule::Sizes, {"logspace", "hann_window", "hamming_window", "blackman_window",
                          "bartlett_window", "kaiser_window"});
    add(AxisRule::Cat, {"cat", "concat", "concatenate"});
    add(AxisRule::Stack, {"stack"});
    add(AxisRule::Slice, {"slice", "narrow"});
    add(AxisRule::Select, {"select"});
    add(AxisRule::Unsqueeze, {"unsqueeze"});
    add(AxisRule::Squeeze, {"squeeze"});
    add(AxisRule::Permute, {"transpose", "t", "permute", "movedim", "moveaxis", "swapaxes",
                            "swapdims", "numpy_T", "mT", "adjoint", "matrix_H", "mH"});
    add(AxisRule::Flatten, {"flatten", "ravel"});
    add(AxisRule::Split,
        {"split", "split_with_sizes", "chunk", "unbind", "unsafe_split", "unsafe_chunk",
         "unsafe_split_with_sizes", "tensor_split", "hsplit", "vsplit", "dsplit"});
    add(AxisRule::Embedding, {"embedding"});
    add(AxisRule::Index, {"index", "_unsafe_index"});
    add(AxisRule::IndexSelect, {"index_select"});
    add(AxisRule::Gather, {"gather"});
    add(AxisRule::Recurrent, {"lstm", "gru", "rnn_tanh", "rnn_relu"});
    add(AxisRule::Cell, {"lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell"});
    add(AxisRule::Resize,
        {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d", "upsample_linear1d",
         "upsample_bilinear2d", "upsample_bicubic2d", "upsample_trilinear3d",
         "_upsample_nearest_exact1d", "_upsample_nearest_exact2d", "_upsample_nearest_exact3d",
         "__interpolate", "max_unpool2d", "max_unpool3d"});
    add(AxisRule::Pad,
        {"pad", "constant_pad_nd", "reflection_pad1d", "reflection_pad2d", "reflection_pad3d",
         "replication_pad1d", "replication_pad2d", "replication_pad3d", "_pad_circular"});
    add(AxisRule::PixelShuffle, {"pixel_shuffle", "pixel_unshuffle"});
    add(AxisRule::Repeat, {"repeat", "tile"});
    add(AxisRule::Along, {"topk", "diff", "glu", "unfold", "repeat_interleave"});
    add(AxisRule::Einsum, {"einsum"});
    add(AxisRule::DataSized, {"nonzero", "nonzero_numpy", "argwhere", "masked_select", "unique_dim",
                              "_unique", "_unique2", "unique_consecutive", "unique_dim_consecutive",
                              "bincount", "_pack_padded_sequence", "_pad_packed_sequence"});
    t["torchvision::nms"] = AxisRule::DataSized;
    return t;
  }();
  return table;
}

bool is_tensor(const c10::Argument& a) { return a.type()->kind() == c10::TypeKind::TensorType; }

bool written(const c10::Argument& a) { return a.alias_info() && a.alias_info()->isWrite(); }

// The functional overload whose arguments are the first `count` ones of `schema`.
const OpInfo* find_twin(const c10::FunctionSchema& schema, const std::string& base, size_t count) {
  const OpInfo* same_types = nullptr;
  for (const auto& candidate : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(base))) {
    const auto& s = candidate->schema();
    if (s.arguments().size() != count || s.is_mutable()) continue;
    bool same = true;
    for (size_t i = 0; i < count && same; ++i)
      // The written argument is `self` where the twin may have `input`.
      same = *s.arguments()[i].type() == *schema.arguments()[i].type() &&
             (i == 0 || s.arguments()[i].name() == schema.arguments()[i].name());
    if (!same) continue;
    if (s.overload_name() == schema.overload_name()) return &op_info(*candidate);
    if (!same_types) same_types = &op_info(*candidate);
  }
  return same_types;
}

// In-place operators whose functional form goes by another name.
std::string functional_name(const std::string& base) {
  static const std::unordered_map<std::string, std::string> names = {
      {"aten::_no_grad_fill_", "aten::fill"},
      {"aten::_no_grad_zero_", "aten::zero"},
      {"aten::_no_grad_uniform_", "aten::uniform"},
      {"aten::_no_grad_normal_", "aten::normal_functional"},
      {"aten::normal_", "aten::normal_functional"},
      {"aten::copy_", "aten::fill"}};  // of a number; copying a tensor needs no operator
  if (auto it = names.find(base); it != names.end()) return it->second;
  if (base.starts_with("aten::__i")) return "aten::__" + base.substr(9);  // __iand__ -> __and__
  return base.substr(0, base.size() - 1);
}

// The functional overload that takes every argument by name and has defaults for the rest. Names
// of the first one differ (self, input, tensor), and so do kinds of number.
const OpInfo* find_named_twin(const c10::FunctionSchema& schema, const std::string& base,
                              size_t count, std::vector<int>& arguments) {
  auto fits = [](const c10::Argument& from, const c10::Argument& to) {
    return *from.type() == *to.type() || from.type()->isSubtypeOf(*to.type());
  };
  for (const auto& candidate : torch::jit::getAllOperatorsFor(c10::Symbol::fromQualString(base))) {
    const auto& s = candidate->schema();
    if (s.is_mutable()) continue;
    std::vector<int> found;
    std::vector<bool> used(count, false);
    bool all = true;
    for (size_t i = 0; i < s.arguments().size() && all; ++i) {
      const c10::Argument& wanted = s.arguments()[i];
      int from = -1;
      for (size_t k = 0; k < count && from < 0; ++k)
        if (!used[k] && schema.arguments()[k].name() == wanted.name() &&
            fits(schema.arguments()[k], wanted))
          from = static_cast<int>(k);
      if (from < 0 && i < count && !used[i] && !schema.argumentIndexWithName(wanted.name()) &&
          !s.argumentIndexWithName(schema.arguments()[i].name()) &&
          fits(schema.arguments()[i], wanted))
        from = static_cast<int>(i);
      if (from >= 0) used[static_cast<size_t>(from)] = true;
      all = from >= 0 || wanted.default_value();
      found.push_back(from);
    }
    if (!all || std::count(used.begin(), used.end(), false)) continue;
    arguments = std::move(found);
    return &op_info(*candidate);
  }
  return nullptr;
}

const std::unordered_set<std::string>& metadata_operators() {
  static const std::unordered_set<std::string> names = {
      "aten::unsqueeze_", "aten::squeeze_",  "aten::t_",          "aten::transpose_",
      "aten::swapdims_",  "aten::swapaxes_", "aten::as_strided_", "aten::detach_"};
  return names;
}

OpInfo make(const Operator& op) {
  OpInfo info;
  info.op = &op;
  info.schema = &op.schema();
  const auto& schema = *info.schema;
  info.base = schema.name();
  info.name = info.base;
  if (!schema.overload_name().empty()) info.name += "." + schema.overload_name();

  auto rule = rules().find(info.base);
  if (rule != rules().end()) info.rule = rule->second;
  if (info.name == "aten::where") info.rule = AxisRule::DataSized;  // of a condition alone

  if (op.isC10Op()) {
    auto handle = c10::Dispatcher::singleton().findSchema({schema.name(), schema.overload_name()});
    info.pointwise = handle && handle->hasTag(at::Tag::pointwise);
    info.random = handle && handle->hasTag(at::Tag::nondeterministic_seeded);
  }
  const auto& args = schema.arguments();
  size_t count = args.size();
  while (count && args[count - 1].is_out() && written(args[count - 1])) --count;
  info.outs = static_cast<int>(args.size() - count);
  if (info.outs) {
    info.twin = find_twin(schema, info.base, count);
    if (!info.twin) info.twin = find_named_twin(schema, info.base, count, info.twin_arguments);
    return info;
  }
  for (size_t i = 0; i < args.size(); ++i)
    if (is_tensor(args[i]) && written(args[i])) {
      info.written = static_cast<int>(i);
      break;
    }
  if (info.written >= 0 && info.base.ends_with("_")) {
    info.metadata_in_place = metadata_operators().contains(info.base);
    const std::string base = functional_name(info.base);
    info.twin = find_twin(schema, base, args.size());
    if (!info.twin) info.twin = find_named_twin(schema, base, args.size(), info.twin_arguments);
  }
  return info;
}

}  // namespace

const OpInfo& op_info(const Operator& op) {
  static std::unordered_map<const Operator*, std::unique_ptr<OpInfo>> cache;
  auto it = cache.find(&op);
  if (it == cache.end()) {
    auto info = std::make_unique<OpInfo>(make(op));  // may recurse for the twin
    it = cache.try_emplace(&op, std::move(info)).first;
  }
  return *it->second;
}

const OpInfo& op_named(const std::string& name) {
  static std::unordered_map<std::string, const OpInfo*> cache;
  auto it = cache.find(name);
  if (it == cache.end()) {
    auto dot = name.find('.');
    auto op = torch::jit::findOperatorFor(
        {name.substr(0, dot), dot == std::string::npos ? "" : name.substr(dot + 1)});
    if (!op)
      throw Failure(ExitCode::Unsupported, "OE4001", "this LibTorch has no operator " + name);
    it = cache.emplace(name, &op_info(*op)).first;
  }
  return *it->second;
}

}  // namespace oe::capture
