// The device that the example runs on (--device).
#include "lib/torch/cuda.h"

#include <ATen/Context.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/Device.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

#include <filesystem>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"
#include "lib/torch/about.h"
#include "lib/torch/runtime.h"

namespace oe::torch_io {
namespace {

namespace fs = std::filesystem;

// The folder of the LibTorch that this process runs.
fs::path library_folder() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(&at::globalContext), &info) == 0 || !info.dli_fname) return {};
  return fs::path(info.dli_fname).parent_path();
}

std::string current = "cpu";

fs::path cuda_library() { return (library_folder() / "libtorch_cuda.so").lexically_normal(); }

}  // namespace

bool has_cuda() {
  std::error_code error;
  return fs::exists(cuda_library(), error);
}

Cuda open_cuda() {
  Cuda cuda;
  const fs::path library = cuda_library();
  if (!has_cuda()) {
    cuda.code = "OE0611";
    cuda.missing = "LibTorch " + libtorch_version() +
                   " is a build for CPUs here: " + library.string() + " is missing";
    cuda.hint =
        "install a CUDA build of the same version of torch in its place, or specify the folder of "
        "one with --torch";
    return cuda;
  }
  // RTLD_GLOBAL: LibTorch's libraries find each other's symbols, as if they were linked.
  if (!dlopen(library.c_str(), RTLD_NOW | RTLD_GLOBAL)) {
    cuda.code = "OE0611";
    cuda.missing = std::string("LibTorch's CUDA library cannot be loaded: ") + dlerror();
    cuda.hint = "install the CUDA libraries that it names";
  }
  return cuda;
}

Cuda find_cuda() {
  Cuda cuda = open_cuda();
  if (!cuda.missing.empty()) return cuda;
  try {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    cuda.devices = at::detail::getCUDAHooks().getNumGPUs();
  } catch (const std::exception& e) {
    cuda.code = "OE0612";
    cuda.missing = message_of(e);
    cuda.hint = "run the example without a GPU: --device cpu";
  }
  return cuda;
}

void use_device(const std::string& device) {
  const c10::Device wanted(device);
  if (wanted.is_cpu()) return;
  Cuda cuda = find_cuda();
  if (cuda.missing.empty() && wanted.index() >= cuda.devices)
    cuda = {cuda.devices, "OE0612",
            plural(static_cast<size_t>(cuda.devices), "CUDA device") + " available, counted from 0",
            "choose another one"};
  if (!cuda.missing.empty())
    throw Failure(ExitCode::MissingPart, cuda.code, "--device " + device + ": " + cuda.missing,
                  cuda.hint);
  c10::impl::VirtualGuardImpl(c10::kCUDA).setDevice(wanted);
  // The numbers are compared: convolutions keep all bits of float32.
  at::globalContext().setAllowTF32CuDNN(false);
  current = device;
}

const std::string& current_device() { return current; }

}  // namespace oe::torch_io
