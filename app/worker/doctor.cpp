// `doctor`: the libraries that this process has loaded, ONNX Runtime, limits.
#include <link.h>
#include <sys/resource.h>

#include <filesystem>

#include "app/document.h"
#include "app/verbs/archive_text.h"
#include "app/worker/verbs.h"
#include "lib/onnx/about.h"
#include "lib/options/options.h"
#include "lib/support/text.h"
#include "lib/torch/about.h"
#include "lib/torch/cuda.h"
#include "lib/verify/ort.h"

namespace oe::app {
namespace {

// The path of the loaded library whose file name begins so; empty: there is none.
std::string loaded_library(const std::string& begin) {
  std::pair<std::string, std::string> wanted{begin, ""};
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void* to) {
        auto& [name, path] = *static_cast<std::pair<std::string, std::string>*>(to);
        const std::filesystem::path library(info->dlpi_name);
        if (library.filename().string().starts_with(name)) path = library.lexically_normal();
        return path.empty() ? 0 : 1;
      },
      &wanted);
  return wanted.second;
}

// Bytes; nothing: without limit.
std::optional<uint64_t> limit_of(decltype(RLIMIT_STACK) resource) {
  rlimit limit{};
  if (getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return std::nullopt;
  return limit.rlim_cur;
}

std::string limit_text(const std::optional<uint64_t>& bytes) {
  return bytes ? human_bytes(*bytes) : "unlimited";
}

ordered_json limit_json(const std::optional<uint64_t>& bytes) {
  return bytes ? ordered_json(*bytes) : ordered_json();
}

}  // namespace

void doctor(const Doctor& verb, std::ostream& out, Report& r) {
  const torch_io::Cuda cuda = torch_io::find_cuda();
  std::string why;
  const std::shared_ptr<verify::Ort> ort = verify::Ort::load(verb.ort_lib, why);
  const std::string runtime = ort ? loaded_library("libonnxruntime.so") : "";
  const std::string torch = loaded_library("libtorch_cpu");
  const std::string worker = std::filesystem::read_symlink("/proc/self/exe");
  const auto stack = limit_of(RLIMIT_STACK), memory = limit_of(RLIMIT_AS);
  if (!ort) r.outcome.exit_code = ExitCode::MissingPart;
  SandboxLevel sandbox = verb.sandbox;  // of a conversion on the CPU
  sandbox.gpu = false;
  if (verb.json) {
    ordered_json found = nullptr;
    if (ort)
      found = {{"version", ort->version()},
               {"library", runtime},
               {"newest_opset", ort->newest_opset()},
               {"providers", ort->providers()}};
    const ordered_json document = {{"ready", ort != nullptr},
                                   {"worker", worker},
                                   {"libtorch",
                                    {{"version", torch_io::libtorch_version()},
                                     {"library", torch},
                                     {"cuda", torch_io::has_cuda()},
                                     {"cuda_devices", cuda.devices},
                                     {"cuda_missing", cuda.missing}}},
                                   {"onnx", onnx::onnx_version()},
                                   {"protobuf", onnx::protobuf_version()},
                                   {"opsets", {kOldestOpset, kNewestOpset}},
                                   {"onnxruntime", found},
                                   {"missing", why},
                                   {"sandbox", sandbox_json(sandbox)},
                                   {"stack_bytes", limit_json(stack)},
                                   {"memory_bytes", limit_json(memory)}};
    out << dump(verb_document("doctor", document, r.outcome.exit_code), 2) << "\n";
    return;
  }
  const Strings runtime_lines =
      ort ? Strings{ort->version() + ", opsets up to " + std::to_string(ort->newest_opset()),
                    runtime, join(ort->providers(), ", ")}
          : Strings{"missing: " + why,
                    "--verify needs it: the onnxruntime wheel has it (pip install onnxruntime);",
                    "name its libonnxruntime.so.* with --ort-lib or ONNX_EXPORT_ORT_LIB"};
  out << labelled("worker", {worker})
      << labelled("LibTorch", {torch_io::libtorch_version() +
                                   (torch_io::has_cuda() ? ", with CUDA" : ", without CUDA"),
                               torch})
      << labelled("CUDA",
                  {cuda.missing.empty() ? plural(static_cast<size_t>(cuda.devices), "device")
                                        : cuda.missing})
      << labelled("ONNX", {onnx::onnx_version() + ", opsets " + std::to_string(kOldestOpset) +
                           " to " + std::to_string(kNewestOpset)})
      << labelled("protobuf", {onnx::protobuf_version()}) << labelled("ORT", runtime_lines)
      << labelled("sandbox", {sandbox_text(sandbox)})
      << labelled("limits", {"stack " + limit_text(stack) + ", memory " + limit_text(memory)});
}

}  // namespace oe::app
