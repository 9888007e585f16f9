// A library with an operator of its own, as torch.ops.load_library and --custom-op-lib load it.
#include <ATen/ATen.h>
#include <torch/library.h>

namespace {

at::Tensor foo_forward(const at::Tensor& input1, const at::Tensor& input2, double attr1,
                       int64_t attr2) {
  return input1 * attr1 + input2 * attr2;
}

}  // namespace

TORCH_LIBRARY(custom_ops, m) {
  m.def("foo_forward(Tensor input1, Tensor input2, float attr1, int attr2) -> Tensor", foo_forward);
}
