// A library for --custom-op-lib whose kernel of aten::triu ends the process on tensors of 6 rows:
// stands for LibTorch's kernels that do not check their sizes.
#include <ATen/core/Tensor.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tril.h>
#include <signal.h>
#include <torch/library.h>

namespace {

at::Tensor triu(const at::Tensor& x, int64_t diagonal) {
  if (x.size(0) == 6) raise(SIGSEGV);
  return at::sub(x, at::tril(x, diagonal - 1));
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("triu", triu); }
