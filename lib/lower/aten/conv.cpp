// Convolutions: https://onnx.ai/onnx/operators/onnx__Conv.html and onnx__ConvTranspose.html.
#include <algorithm>

#include "lib/lower/lowering.h"

namespace oe::lower {
namespace {

struct Window {
  Ints stride, pads, dilation;  // pads: all beginnings, then all ends
  int64_t groups = 1;
};

// Conv or ConvTranspose of `x` with or without a batch axis.
T convolve(Call& g, std::string_view op, T x, T w, std::optional<T> bias, const Window& win,
           const Ints& output_padding = {}) {
  const DType t = g.result_dtype();
  if (!is_float(t)) throw Unsupported("convolution of " + std::string(name(t)) + " tensors");
  const int64_t n = w.rank() - 2;
  const bool batched = x.rank() == n + 2;
  ir::Attributes a{{"strides", win.stride},
                   {"pads", win.pads},
                   {"dilations", win.dilation},
                   {"group", win.groups}};
  Ints kernel;
  for (int64_t i = 0; i < n; ++i)
    if (auto k = w.dim(i + 2)) kernel.push_back(*k);
  if (static_cast<int64_t>(kernel.size()) == n) a.set("kernel_shape", kernel);
  if (std::any_of(output_padding.begin(), output_padding.end(), [](int64_t p) { return p != 0; }))
    a.set("output_padding", output_padding);
  x = cast(x, t);
  if (!batched) x = unsqueeze(x, {0});
  Values in{x, cast(w, t)};
  if (bias) in.push_back(cast(*bias, t));
  T y = node(op, in, std::move(a));
  return batched ? y : squeeze(y, {0});
}

Ints both_sides(const Ints& padding) {
  Ints pads = padding;
  pads.insert(pads.end(), padding.begin(), padding.end());
  return pads;
}

size_t spatial(T w) { return static_cast<size_t>(w.rank() - 2); }

T conv(Call& g, T x, T w, std::optional<T> b, const Ints& stride, const Ints& padding,
       const Ints& dilation, int64_t groups) {
  const size_t n = spatial(w);
  return convolve(g, "Conv", x, w, b,
                  {per_axis(stride, n, 1), both_sides(per_axis(padding, n, 0)),
                   per_axis(dilation, n, 1), groups});
}

// padding="same" puts the odd element at the end, as PyTorch does.
T conv_mode(Call& g, T x, T w, std::optional<T> b, const Ints& stride, const std::string& padding,
            const Ints& dilation, int64_t groups) {
  const size_t n = spatial(w);
  Window win{per_axis(stride, n, 1), Ints(2 * n, 0), per_axis(dilation, n, 1), groups};
  if (padding == "same") {
    for (size_t i = 0; i < n; ++i) {
      auto k = w.dim(static_cast<int64_t>(i) + 2);
      if (!k) throw Unsupported("padding='same' with a kernel whose size is not known");
      const int64_t total = win.dilation[i] * (*k - 1);
      win.pads[i] = total / 2;
      win.pads[n + i] = total - total / 2;
    }
  }
  return convolve(g, "Conv", x, w, b, win);
}

T conv_transpose(Call& g, T x, T w, std::optional<T> b, const Ints& stride, const Ints& padding,
                 const Ints& output_padding, int64_t groups, const Ints& dilation) {
  const size_t n = spatial(w);
  return convolve(g, "ConvTranspose", x, w, b,
                  {per_axis(stride, n, 1), both_sides(per_axis(padding, n, 0)),
                   per_axis(dilation, n, 1), groups},
                  per_axis(output_padding, n, 0));
}

// What follows (benchmark, deterministic, cudnn, tf32) chooses kernels, not numbers.
T convolution(Call& g, T x, T w, std::optional<T> b, const Ints& stride, const Ints& padding,
              const Ints& dilation, bool transposed, const Ints& output_padding, int64_t groups,
              Rest) {
  return transposed ? conv_transpose(g, x, w, b, stride, padding, output_padding, groups, dilation)
                    : conv(g, x, w, b, stride, padding, dilation, groups);
}

// Time first, channels last: [T, B, Cin] with a kernel [K, Cin, Cout].
T conv_tbc(T x, T w, T b, int64_t pad) {
  T y = node("Conv", {transpose(x, {1, 2, 0}), transpose(w, {2, 1, 0}), b},
             {{"pads", Ints{pad, pad}}, {"strides", Ints{1}}, {"dilations", Ints{1}}});
  return transpose(y, {2, 0, 1});
}

constexpr Lowering table[] = {
    op<conv>(
        "aten::conv1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    op<conv>(
        "aten::conv2d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    op<conv>(
        "aten::conv3d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    op<conv_mode>(
        "aten::conv1d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], str padding=\"valid\", SymInt[1] dilation=[1], SymInt groups=1) -> Tensor"),
    op<conv_mode>(
        "aten::conv2d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], str padding=\"valid\", SymInt[2] dilation=[1, 1], SymInt groups=1) -> Tensor"),
    op<conv_mode>(
        "aten::conv3d.padding(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], str padding=\"valid\", SymInt[3] dilation=[1, 1, 1], SymInt groups=1) -> Tensor"),
    op<conv_mode>(
        "aten::_convolution_mode(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, str padding, SymInt[] dilation, SymInt groups) -> Tensor"),
    op<conv_transpose>(
        "aten::conv_transpose1d(Tensor input, Tensor weight, Tensor? bias=None, SymInt[1] stride=[1], SymInt[1] padding=[0], SymInt[1] output_padding=[0], SymInt groups=1, SymInt[1] dilation=[1]) -> Tensor"),
    op<conv_transpose>(
        "aten::conv_transpose2d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[2] stride=[1, 1], SymInt[2] padding=[0, 0], SymInt[2] output_padding=[0, 0], SymInt groups=1, SymInt[2] dilation=[1, 1]) -> Tensor"),
    op<conv_transpose>(
        "aten::conv_transpose3d.input(Tensor input, Tensor weight, Tensor? bias=None, SymInt[3] stride=[1, 1, 1], SymInt[3] padding=[0, 0, 0], SymInt[3] output_padding=[0, 0, 0], SymInt groups=1, SymInt[3] dilation=[1, 1, 1]) -> Tensor"),
    op<convolution>(
        "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"),
    op<convolution>(
        "aten::_convolution.deprecated(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, int[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled) -> Tensor"),
    op<convolution>(
        "aten::_convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups, bool benchmark, bool deterministic, bool cudnn_enabled, bool allow_tf32) -> Tensor"),
    op<conv_tbc>("aten::conv_tbc(Tensor self, Tensor weight, Tensor bias, int pad=0) -> Tensor"),
};

}  // namespace

Table conv_rows() { return table; }

}  // namespace oe::lower
