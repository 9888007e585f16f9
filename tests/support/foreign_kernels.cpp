// A library for --custom-op-lib with kernels that are not LibTorch's:
//   aten::triu ends the process on tensors of 6 rows, like kernels that do not check their sizes;
//   aten::hardsigmoid counts its calls, so that no two of them give the same;
//   aten::cosh cuts the file that ONNX_EXPORT_TEST_CUTS names to one page, or appends to it where
//     ONNX_EXPORT_TEST_APPENDS does;
//   aten::hardswish gives x, so that the file, which has the real one, differs from the model.
// For --ort-lib it is an ONNX Runtime that ends the process.
#include <ATen/core/Tensor.h>
#include <ATen/ops/add.h>
#include <ATen/ops/clone.h>
#include <ATen/ops/sub.h>
#include <ATen/ops/tril.h>
#include <signal.h>
#include <torch/library.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace {

at::Tensor triu(const at::Tensor& x, int64_t diagonal) {
  if (x.size(0) == 6) raise(SIGSEGV);
  return at::sub(x, at::tril(x, diagonal - 1));
}

at::Tensor hardsigmoid(const at::Tensor& x) {
  static int calls = 0;
  return at::add(x, ++calls);
}

at::Tensor hardswish(const at::Tensor& x) { return at::clone(x); }

at::Tensor cosh_of(const at::Tensor& x) {
  if (const char* file = std::getenv("ONNX_EXPORT_TEST_CUTS"))
    std::filesystem::resize_file(file, 4096);
  if (const char* file = std::getenv("ONNX_EXPORT_TEST_APPENDS"))
    std::ofstream(file, std::ios::app) << "more";
  return at::clone(x);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const void* OrtGetApiBase() {
  raise(SIGSEGV);
  return nullptr;
}

TORCH_LIBRARY_IMPL(aten, CPU, m) {
  m.impl("triu", triu);
  m.impl("hardsigmoid", hardsigmoid);
  m.impl("hardswish", hardswish);
  m.impl("cosh", cosh_of);
}
