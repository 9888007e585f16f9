// Kernels for the meta device that LibTorch has in Python only.
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <torch/library.h>

#include "lib/infer/shadow.h"

namespace oe::infer {
namespace {

at::Tensor like(const at::Tensor& t) { return at::empty_like(t); }

// What stride, padding and dilation say for axis i: one number stands for all.
int64_t at_axis(at::IntArrayRef values, size_t i) {
  return values.size() == 1 ? values[0] : values[i];
}

at::Tensor convolved(const at::Tensor& input, const at::Tensor& weight,
                     const std::optional<at::Tensor>&, at::IntArrayRef stride,
                     at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                     at::IntArrayRef output_padding, int64_t groups) {
  TORCH_CHECK(input.dim() == weight.dim(), "convolution: input has rank ", input.dim(),
              ", the weight ", weight.dim());
  TORCH_CHECK(input.scalar_type() == weight.scalar_type(),
              "convolution: input and weight have different types");
  TORCH_CHECK(input.size(1) == (transposed ? weight.size(0) : weight.size(1) * groups),
              "convolution: input has ", input.size(1), " channels");
  std::vector<int64_t> sizes = {input.size(0),
                                transposed ? weight.size(1) * groups : weight.size(0)};
  for (size_t i = 0; i + 2 < static_cast<size_t>(weight.dim()); ++i) {
    const auto axis = static_cast<int64_t>(i) + 2;
    const int64_t n = input.size(axis), reach = at_axis(dilation, i) * (weight.size(axis) - 1) + 1,
                  p = at_axis(padding, i), s = at_axis(stride, i);
    sizes.push_back(transposed ? (n - 1) * s - 2 * p + reach + at_axis(output_padding, i)
                               : (n + 2 * p - reach) / s + 1);
    TORCH_CHECK(transposed ? sizes.back() > 0 : n + 2 * p >= reach, "convolution: axis ", axis,
                " has ", n, " elements, the kernel spans ", reach);
  }
  return at::empty(sizes, input.options());
}

at::Tensor convolved_with_flags(const at::Tensor& input, const at::Tensor& weight,
                                const std::optional<at::Tensor>& bias, at::IntArrayRef stride,
                                at::IntArrayRef padding, at::IntArrayRef dilation, bool transposed,
                                at::IntArrayRef output_padding, int64_t groups, bool, bool, bool,
                                bool) {
  return convolved(input, weight, bias, stride, padding, dilation, transposed, output_padding,
                   groups);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> batch_norm(const at::Tensor& input,
                                                          const std::optional<at::Tensor>& weight,
                                                          const std::optional<at::Tensor>&,
                                                          const std::optional<at::Tensor>&,
                                                          const std::optional<at::Tensor>&,
                                                          bool training, double, double) {
  TORCH_CHECK(
      !weight || !weight->defined() || weight->scalar_type() == input.scalar_type() ||
          (weight->scalar_type() == at::kFloat && c10::isReducedFloatingType(input.scalar_type())),
      "batch_norm: input and weight have different types");
  const at::Tensor saved = at::empty({training ? input.size(1) : 0}, input.options());
  return {like(input), saved, saved};
}

}  // namespace

void register_meta_kernels() {
  static const bool once = [] {
    static torch::Library m(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__,
                            __LINE__);
    m.impl("convolution", convolved);
    m.impl("_convolution", convolved_with_flags);
    m.impl("native_batch_norm", batch_norm);
    m.impl("relu", like);
    return true;
  }();
  static_cast<void>(once);
}

}  // namespace oe::infer
