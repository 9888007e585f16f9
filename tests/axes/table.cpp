// Arguments that are written down, and overloads for which none can be.
#include <algorithm>

#include "tests/axes/samples.h"

namespace oe::axes {
namespace {

constexpr Written kWritten[] = {
    // Came out wrong once: the smallest case of each fix.
    {"aten::repeat_interleave.self_int", "self=f[3] repeats=a"},
    {"aten::conv2d", "input=f[3,2,4,4] weight=f[2,2,b,a]"},
    {"aten::conv2d", "input=f[3,2,4,4] weight=f[2,2,2,2] stride=[a,1] padding=[1,a]"},
    {"aten::conv_transpose1d", "input=f[2,2,3] weight=f[2,2,2] stride=[1] padding=[2]"},
    {"aten::max_pool1d_with_indices", "self=f[2,5] kernel_size=[2] stride=[a]"},
    {"aten::_upsample_bilinear2d_aa", "self=f[2,2,3,3] output_size=[a,b] align_corners=False"},
    {"aten::im2col", "self=f[2,3,4,5] kernel_size=[a,2] dilation=[1,1] padding=[0,0] stride=[1,1]"},
    {"aten::pixel_shuffle", "self=f[2,16,3,2] upscale_factor=a"},
    {"aten::new_empty_strided", "self=f[1] size=[1] stride=[b]"},
    {"aten::rot90", "self=f[a,b] k=1 dims=[0,1]"},
    {"aten::unflatten.int", "self=f[4,2] dim=0 sizes=[a,-1]"},
    {"aten::index_select", "self=f[3,2] dim=0 index=i[4]"},
    {"aten::flatten.using_ints", "self=f[2,3,4] start_dim=0 end_dim=1"},
    {"aten::movedim.int", "self=f[a,b] source=0 destination=1"},
    {"aten::swapaxes", "self=f[a,b] axis0=0 axis1=1"},
    {"aten::squeeze.dims", "self=f[2,1,1] dim=[0,1]"},
    {"aten::squeeze_copy", "self=f[a,b]"},
    {"aten::unsqueeze_copy", "self=f[b] dim=0"},
    {"aten::unbind_copy.int", "self=f[a,b] dim=0"},
    {"aten::diag_embed", "self=f[4,3] offset=0 dim1=0 dim2=1"},
    {"aten::hsplit.int", "self=f[4,4] sections=1"},
    {"aten::tensor_split.sections", "self=f[c,b] sections=2"},
    {"aten::l1_loss", "self=f[a,b] target=f[a,b] reduction=0"},
    {"aten::_prelu_kernel", "self=f[1,b] weight=f[b]"},
    {"aten::_weight_norm", "v=f[d] g=f[1,d] dim=0"},

    // Recurrent networks: weights of d, of 3 elements.
    {"aten::lstm.input",
     "input=f[a,b,c] hx=(f[1,b,3];f[1,b,3]) params=(f[12,c];f[12,3];f[12];f[12]) has_biases=True "
     "num_layers=1 dropout=0.0 train=False bidirectional=False batch_first=False"},
    {"aten::lstm.input",
     "input=f[a,b,c] hx=(f[2,a,d];f[2,a,d]) params=(f[4d,c];f[4d,d];f[4d,c];f[4d,d]) "
     "has_biases=False num_layers=1 dropout=0.0 train=False bidirectional=True batch_first=True"},
    {"aten::gru.input",
     "input=f[a,b,c] hx=f[1,b,d] params=(f[3d,c];f[3d,d]) has_biases=False num_layers=1 "
     "dropout=0.0 train=False bidirectional=False batch_first=False"},
    {"aten::rnn_tanh.input",
     "input=f[a,b,c] hx=f[1,b,d] params=(f[d,c];f[d,d]) has_biases=False num_layers=1 "
     "dropout=0.0 train=False bidirectional=False batch_first=False"},
    {"aten::rnn_relu.input",
     "input=f[a,b,c] hx=f[1,a,d] params=(f[d,c];f[d,d]) has_biases=False num_layers=1 "
     "dropout=0.0 train=False bidirectional=False batch_first=True"},
    {"aten::lstm.data",
     "data=f[5,c] batch_sizes={2,2,1} hx=(f[1,2,d];f[1,2,d]) params=(f[4d,c];f[4d,d]) "
     "has_biases=False num_layers=1 dropout=0.0 train=False bidirectional=False"},
    {"aten::gru.data",
     "data=f[5,c] batch_sizes={2,2,1} hx=f[1,2,d] params=(f[3d,c];f[3d,d]) has_biases=False "
     "num_layers=1 dropout=0.0 train=False bidirectional=False"},
    {"aten::rnn_tanh.data",
     "data=f[5,c] batch_sizes={2,2,1} hx=f[1,2,d] params=(f[d,c];f[d,d]) has_biases=False "
     "num_layers=1 dropout=0.0 train=False bidirectional=False"},
    {"aten::rnn_relu.data",
     "data=f[5,c] batch_sizes={2,2,1} hx=f[1,2,d] params=(f[d,c];f[d,d]) has_biases=False "
     "num_layers=1 dropout=0.0 train=False bidirectional=False"},
    {"aten::lstm_cell", "input=f[a,c] hx=(f[a,d];f[a,d]) w_ih=f[4d,c] w_hh=f[4d,d]"},
    {"aten::gru_cell", "input=f[a,c] hx=f[a,d] w_ih=f[3d,c] w_hh=f[3d,d]"},
    {"aten::rnn_tanh_cell", "input=f[a,c] hx=f[a,d] w_ih=f[d,c] w_hh=f[d,d]"},

    {"aten::conv3d", "input=f[a,b,c,d,c] weight=f[2,b,2,2,2] padding=[0,1,0]"},
    {"aten::conv3d.padding", "input=f[a,b,c,d,c] weight=f[2,b,3,1,2] padding='same'"},
    {"aten::_convolution_mode",
     "input=f[a,b,c,d] weight=f[2,b,3,1] stride=[1,1] padding='same' dilation=[1,1] groups=1"},
    {"aten::convolution",
     "input=f[a,b,c,d] weight=f[2,b,3,1] bias=None stride=[1,2] padding=[1,0] dilation=[1,1] "
     "transposed=False output_padding=[0,0] groups=1"},
    {"aten::convolution",
     "input=f[a,b,c,d] weight=f[b,2,3,1] bias=None stride=[1,2] padding=[1,0] dilation=[1,1] "
     "transposed=True output_padding=[0,1] groups=1"},
    {"aten::_convolution",
     "input=f[a,b,c,d] weight=f[2,b,3,1] bias=None stride=[1,2] padding=[1,0] dilation=[1,1] "
     "transposed=False output_padding=[0,0] groups=1 benchmark=False deterministic=False "
     "cudnn_enabled=True allow_tf32=True"},
    {"aten::_convolution.deprecated",
     "input=f[a,b,c,d] weight=f[2,b,3,1] bias=None stride=[1,2] padding=[1,0] dilation=[1,1] "
     "transposed=False output_padding=[0,0] groups=1 benchmark=False deterministic=False "
     "cudnn_enabled=True"},
    {"aten::mkldnn_convolution",
     "self=f[a,b,c,d] weight=f[2,b,3,1] bias=None padding=[1,0] stride=[1,2] dilation=[1,1] "
     "groups=1"},
    {"aten::conv_transpose2d.input", "input=f[a,b,c,d] weight=f[b,2,3,2] stride=[1,2]"},
    {"aten::conv_transpose3d.input", "input=f[a,b,c,d,a] weight=f[b,2,1,2,1]"},
    {"aten::conv_tbc", "self=f[c,a,b] weight=f[2,b,d] bias=f[d]"},
    {"aten::col2im",
     "self=f[a,4b,3c-3] output_size=[c,4] kernel_size=[2,2] dilation=[1,1] padding=[0,0] "
     "stride=[1,1]"},
    {"aten::upsample_nearest3d", "self=f[a,2,b,c,d] output_size=[c,2,d]"},
    {"aten::upsample_trilinear3d", "self=f[a,2,b,c,d] output_size=[c,2,d] align_corners=False"},
    {"aten::_upsample_nearest_exact3d", "self=f[a,2,b,c,d] output_size=[c,2,d]"},
    {"aten::upsample_nearest1d.vec", "input=f[a,2,b] scale_factors=[2.5]"},
    {"aten::upsample_nearest1d.vec", "input=f[a,2,b] output_size=[c]"},
    {"aten::upsample_linear1d.vec", "input=f[a,2,b] align_corners=False scale_factors=[2.5]"},
    {"aten::upsample_linear1d.vec", "input=f[a,2,b] align_corners=True output_size=[c]"},
    {"aten::_upsample_nearest_exact1d.vec", "input=f[a,2,b] scale_factors=[2.5]"},
    {"aten::__interpolate.size_list", "input=f[a,2,b,c] size=[c,b] scale_factor=None"},
    {"aten::__interpolate.size_list_scale_list", "input=f[a,2,b,c] size=[c,b]"},
    {"aten::__interpolate.size_list_scale_list",
     "input=f[a,2,b,c] size=None scale_factor=[2.0,1.5]"},
    {"aten::upsample_nearest3d.vec", "input=f[a,2,b,c,d] scale_factors=[2.0,1.5,2.0]"},
    {"aten::upsample_trilinear3d.vec",
     "input=f[a,2,b,c,d] align_corners=False scale_factors=[2.0,1.5,2.0]"},
    {"aten::_upsample_nearest_exact3d.vec", "input=f[a,2,b,c,d] scale_factors=[2.0,1.5,2.0]"},
    {"aten::affine_grid_generator", "theta=f[a,2,3] size=[a,1,c,d] align_corners=False"},
    {"aten::grid_sampler_3d",
     "input=f[a,b,3,c,d] grid=f[a,2,c,d,3] interpolation_mode=0 padding_mode=0 "
     "align_corners=False"},

    {"aten::_native_multi_head_attention",
     "query=f[a,b,4] key=f[a,b,4] value=f[a,b,4] embed_dim=4 num_head=2 qkv_weight=f[12,4] "
     "qkv_bias=f[12] proj_weight=f[4,4] proj_bias=f[4]"},
    {"aten::_transformer_encoder_layer_fwd",
     "src=f[a,b,4] embed_dim=4 num_heads=2 qkv_weight=f[12,4] qkv_bias=f[12] proj_weight=f[4,4] "
     "proj_bias=f[4] use_gelu=False norm_first=False eps=0.001 norm_weight_1=f[4] "
     "norm_bias_1=f[4] norm_weight_2=f[4] norm_bias_2=f[4] ffn_weight_1=f[6,4] ffn_bias_1=f[6] "
     "ffn_weight_2=f[4,6] ffn_bias_2=f[4]"},
    {"aten::_scaled_dot_product_flash_attention_for_cpu",
     "query=f[a,2,b,4] key=f[a,2,c,4] value=f[a,2,c,4]"},
    {"aten::addmv", "self=f[a] mat=f[a,b] vec=f[b]"},
    {"aten::addbmm", "self=f[b,d] batch1=f[a,b,c] batch2=f[a,c,d]"},
    {"aten::addbmm", "self=f[] batch1=f[a,b,c] batch2=f[a,c,d]"},

    {"aten::binary_cross_entropy", "self=f[a,b] target=f[a,b] reduction=0"},
    {"aten::binary_cross_entropy", "self=f[a,b] target=f[a,b] weight=f[b]"},
    {"aten::binary_cross_entropy_with_logits", "self=f[a,b] target=f[a,b] reduction=0"},
    {"aten::kl_div", "self=f[a,b] target=f[a,b] reduction=0"},
    {"aten::kl_div", "self=f[a,b] target=f[a,b]"},
    {"aten::nll_loss2d", "self=f[a,b,c,d] target=i[a,c,d] reduction=0"},
    {"aten::native_batch_norm",
     "input=f[a,b,c] weight=f[b] bias=f[b] running_mean=f[b] running_var=f[b] training=False "
     "momentum=0.1 eps=0.001"},
    {"aten::_native_batch_norm_legit.no_stats",
     "input=f[a,b,c] weight=f[b] bias=f[b] training=True momentum=0.1 eps=0.001"},

    {"aten::embedding_bag", "weight=f[d,c] indices=i[b] offsets=i1[a]"},
    {"aten::embedding_bag", "weight=f[d,c] indices=i[b] offsets=i1[a] include_last_offset=True"},
    {"aten::embedding_bag", "weight=f[d,c] indices=i[b] offsets=i1[a] mode=2"},
    {"aten::embedding_bag.padding_idx",
     "weight=f[d,c] indices=i[b] offsets=i1[a] scale_grad_by_freq=False mode=0 sparse=False "
     "per_sample_weights=None include_last_offset=False padding_idx=0"},
    {"aten::_embedding_bag", "weight=f[d,c] indices=i[b] offsets=i1[a]"},
    {"aten::_pad_packed_sequence",
     "data=f[5,c] batch_sizes={2,2,1} batch_first=True padding_value=0.0 total_length=3"},
    {"aten::narrow.Tensor", "self=f[c,b] dim=0 start=i1[] length=a"},
    {"aten::index.Tensor_hacked_twin", "self=f[c,b] indices=(i[a])"},
    {"aten::_unsafe_index.Tensor_hacked_twin", "self=f[c,b] indices=(i[a];i[a])"},
    {"aten::index_put.hacked_twin", "self=f[c,b] indices=(i[a]) values=f[a,b]"},
    {"aten::_unsafe_index_put.hacked_twin", "self=f[c,b] indices=(i[a]) values=f[b]"},
    {"aten::scatter.reduce", "self=f[c,b] dim=0 index=i[a,b] src=f[a,b] reduce='add'"},
    {"aten::scatter.value_reduce", "self=f[c,b] dim=0 index=i[a,b] value=2 reduce='multiply'"},

    {"aten::tensor", "data=[a,2]"},
    {"aten::as_tensor.list", "data=[a,2]"},
    {"aten::view_as_real", "self=c[a,b]"},
    {"aten::_conj", "self=c[a,b]"},
    {"aten::_fft_c2c", "self=c[a,b] dim=[1] normalization=0 forward=True"},
    {"aten::_fft_r2c", "self=f[a,b] dim=[1] normalization=0 onesided=True"},
    {"aten::_fft_r2c", "self=f[a,b] dim=[0,1] normalization=0 onesided=False"},
    {"aten::_fft_c2r", "self=c[a,b] dim=[1] normalization=0 last_dim_size=c"},
    {"aten::to.device", "self=f[a,b] dtype=7"},
    {"aten::combinations", "self=f[a] r=2"},
};

// These kernels read beyond arguments that do not fit, or take very long: nothing is drawn.
constexpr std::string_view kNotDrawn[] = {"aten::native_batch_norm",
                                          "aten::_native_batch_norm_legit.no_stats",
                                          "aten::_scaled_dot_product_flash_attention_for_cpu",
                                          "aten::embedding_bag",
                                          "aten::embedding_bag.padding_idx",
                                          "aten::_embedding_bag",
                                          "aten::_pad_packed_sequence",
                                          "aten::lstm.input",
                                          "aten::_fft_r2c",
                                          "aten::combinations"};

constexpr Unsampled kUnsampled[] = {
    {"aten::int_repr", "takes a quantized tensor"},
    {"aten::_make_per_tensor_quantized_tensor", "gives a quantized tensor"},
    {"aten::_make_per_channel_quantized_tensor", "gives a quantized tensor"},
    {"aten::copy.Dict_Tensor", "copies a dict"},
    {"aten::tensor.complex", "takes a complex number, which no size is"},
    {"aten::as_tensor.complex", "takes a complex number, which no size is"},
    {"aten::mm.dtype", "is there on CUDA alone"},
    {"aten::bmm.dtype", "is there on CUDA alone"},
    {"aten::addmm.dtype", "is there on CUDA alone"},
    {"aten::baddbmm.dtype", "is there on CUDA alone"},
};

}  // namespace

std::span<const Written> written() { return kWritten; }
std::span<const Unsampled> unsampled() { return kUnsampled; }

bool may_be_drawn(std::string_view overload) {
  return std::ranges::find(kNotDrawn, overload) == std::end(kNotDrawn);
}

}  // namespace oe::axes
