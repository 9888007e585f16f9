// A CUDA device that is none: its memory is the host's, its operators are the CPU's. Stands in for
// libtorch_cuda.so where there is no GPU: tensors of two devices are refused as they would be
// there.
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Functions.h>
#include <ATen/NativeFunctions.h>
#include <ATen/TensorOperators.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <cstdlib>
#include <cstring>
#include <optional>
#include <tuple>

namespace {

const c10::Device kDevice(c10::kCUDA, 0);

struct Guard final : c10::impl::NoOpDeviceGuardImpl<c10::kCUDA> {
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  c10::Stream getStream(c10::Device) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
  c10::Stream exchangeStream(c10::Stream) const noexcept override {
    return c10::Stream(c10::Stream::DEFAULT, kDevice);
  }
};
C10_REGISTER_GUARD_IMPL(CUDA, Guard)

struct HostMemory final : c10::Allocator {
  c10::DataPtr allocate(size_t n) override {
    void* p = n ? std::malloc(n) : nullptr;
    return {p, p, &std::free, kDevice};
  }
  c10::DeleterFnPtr raw_deleter() const override { return &std::free; }
  void copy_data(void* to, const void* from, size_t n) const override { std::memcpy(to, from, n); }
};
HostMemory memory;
REGISTER_ALLOCATOR(c10::kCUDA, &memory)

struct CUDAHooks final : at::CUDAHooksInterface {
  explicit CUDAHooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  int getNumGPUs() const override { return 1; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
};
using at::CUDAHooksRegistry;
using at::RegistererCUDAHooksRegistry;
REGISTER_CUDA_HOOKS(CUDAHooks)

// The same memory as a tensor of the CPU.
at::Tensor as_cpu(const at::Tensor& t) {
  if (t.is_cpu()) return t;
  at::Tensor same = at::from_blob(const_cast<void*>(t.const_data_ptr()), t.sizes(), t.strides(),
                                  t.options().device(c10::kCPU));
  same._set_conj(t.is_conj());
  same._set_neg(t.is_neg());
  return same;
}

at::Tensor empty(c10::SymIntArrayRef size, std::optional<at::ScalarType> type,
                 std::optional<at::Layout>, std::optional<at::Device>, std::optional<bool>,
                 std::optional<at::MemoryFormat> format) {
  return at::detail::empty_generic(C10_AS_INTARRAYREF_SLOW(size), &memory,
                                   c10::DispatchKeySet(c10::DispatchKey::CUDA),
                                   type.value_or(at::kFloat), format);
}
at::Tensor empty_strided(c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                         std::optional<at::ScalarType> type, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>) {
  return at::detail::empty_strided_generic(
      C10_AS_INTARRAYREF_SLOW(size), C10_AS_INTARRAYREF_SLOW(stride), &memory,
      c10::DispatchKeySet(c10::DispatchKey::CUDA), type.value_or(at::kFloat));
}
at::Tensor& copy_(at::Tensor& self, const at::Tensor& src, bool) {
  if (self.numel() > 0) as_cpu(self).copy_(as_cpu(src));
  return self;
}
at::Tensor copy_from(const at::Tensor& self, const at::Tensor& dst, bool) {
  if (dst.numel() > 0) as_cpu(dst).copy_(as_cpu(self));
  return dst;
}
const at::Tensor& resize(const at::Tensor& self, c10::SymIntArrayRef size,
                         std::optional<at::MemoryFormat>) {
  auto* impl = self.unsafeGetTensorImpl();
  const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
  impl->set_sizes_contiguous(sizes);
  const size_t bytes = impl->numel() * self.itemsize() + impl->storage_offset() * self.itemsize();
  if (self.storage().nbytes() < bytes) {
    c10::DataPtr fresh = memory.allocate(bytes);
    if (self.storage().nbytes())
      std::memcpy(fresh.get(), self.storage().data(), self.storage().nbytes());
    self.storage().set_data_ptr(std::move(fresh));
    self.storage().set_nbytes(bytes);
  }
  return self;
}
at::Tensor copy_from_and_resize(const at::Tensor& self, const at::Tensor& dst) {
  if (self.sizes() != dst.sizes()) dst.resize_(self.sizes());
  return copy_from(self, dst, false);
}
at::Tensor view(const at::Tensor& self, c10::SymIntArrayRef size) {
  return at::native::view(self, C10_AS_INTARRAYREF_SLOW(size));
}
at::Tensor as_strided(const at::Tensor& self, c10::SymIntArrayRef size, c10::SymIntArrayRef stride,
                      std::optional<c10::SymInt> offset) {
  std::optional<int64_t> at;
  if (offset) at = offset->expect_int();
  return at::native::as_strided_tensorimpl(self, C10_AS_INTARRAYREF_SLOW(size),
                                           C10_AS_INTARRAYREF_SLOW(stride), at);
}
at::Tensor reshape_alias(const at::Tensor& self, c10::SymIntArrayRef size,
                         c10::SymIntArrayRef stride) {
  return at::native::_reshape_alias(self, C10_AS_INTARRAYREF_SLOW(size),
                                    C10_AS_INTARRAYREF_SLOW(stride));
}
at::Scalar item(const at::Tensor& self) { return as_cpu(self).item(); }
at::Tensor unfold(const at::Tensor& self, int64_t d, int64_t n, int64_t step) {
  return at::native::unfold(self, d, n, step);
}

// What CUDA computes in one kernel, and the CPU has no operator for.
std::tuple<at::Tensor, at::Tensor, at::Tensor> lstm_cell(const at::Tensor& input,
                                                         const at::Tensor& hidden,
                                                         const at::Tensor& cx,
                                                         const std::optional<at::Tensor>& a,
                                                         const std::optional<at::Tensor>& b) {
  at::Tensor gates = input + hidden;
  if (a && a->defined()) gates = gates + *a + *b;
  const auto g = gates.chunk(4, 1);
  const at::Tensor cy = g[1].sigmoid() * cx + g[0].sigmoid() * g[2].tanh();
  return {g[3].sigmoid() * cy.tanh(), cy, gates};
}
std::tuple<at::Tensor, at::Tensor> gru_cell(const at::Tensor& input, const at::Tensor& hidden,
                                            const at::Tensor& hx,
                                            const std::optional<at::Tensor>& a,
                                            const std::optional<at::Tensor>& b) {
  const bool biased = a && a->defined();
  const auto x = (biased ? input + *a : input).chunk(3, 1);
  const auto h = (biased ? hidden + *b : hidden).chunk(3, 1);
  const at::Tensor n = (x[2] + (x[0] + h[0]).sigmoid() * h[2]).tanh();
  return {n + (x[1] + h[1]).sigmoid() * (hx - n), input};
}

// The operator of the CPU, which is given indices on the CPU: cpu_fallback() leaves them.
void fallback(const c10::OperatorHandle& op, c10::Stack* stack) {
  if (op.schema().name() == "aten::native_batch_norm")
    for (size_t i : {3, 4})  // running statistics, which it writes without saying so
      if (c10::IValue& v = (*stack)[i]; v.isTensor() && v.toTensor().defined())
        v = as_cpu(v.toTensor());
  for (c10::IValue& v : *stack) {
    if (!v.isList() || v.isTensorList()) continue;
    c10::List<c10::IValue> on_cpu = v.toList().copy();
    for (size_t i = 0; i < on_cpu.size(); ++i)
      if (on_cpu.get(i).isTensor()) on_cpu.set(i, as_cpu(on_cpu.get(i).toTensor()));
    v = on_cpu;
  }
  at::native::cpu_fallback(op, stack);
}

}  // namespace

TORCH_LIBRARY_IMPL(_, CUDA, m) {
  m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

TORCH_LIBRARY_IMPL(aten, CPU, m) { m.impl("_copy_from_and_resize", &copy_from_and_resize); }

TORCH_LIBRARY_IMPL(aten, CUDA, m) {
  m.impl("empty.memory_format", &empty);
  m.impl("empty_strided", &empty_strided);
  m.impl("copy_", &copy_);
  m.impl("_copy_from", &copy_from);
  m.impl("_copy_from_and_resize", &copy_from_and_resize);
  m.impl("resize_", &resize);
  m.impl("view", &view);
  m.impl("as_strided", &as_strided);
  m.impl("_reshape_alias", &reshape_alias);
  m.impl("_local_scalar_dense", &item);
  m.impl("unfold", &unfold);
  m.impl("_thnn_fused_lstm_cell", &lstm_cell);
  m.impl("_thnn_fused_gru_cell", &gru_cell);
}
