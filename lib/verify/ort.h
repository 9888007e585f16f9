// ONNX Runtime by dlopen: sessions from files or bytes, run on host tensors. No ORT header needed.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "lib/onnx/in_memory.h"
#include "lib/support/host_value.h"

namespace oe::verify {

class Ort {
 public:
  // Searches for the library: `path` if given, else ONNX_EXPORT_ORT_LIB, else beside the
  // executable, else the dynamic linker's folders (library_folders()). Null, with `why`, if it is
  // absent.
  static std::shared_ptr<Ort> load(const std::string& path, std::string& why);
  virtual ~Ort() = default;
  virtual std::string version() const = 0;
  virtual int64_t newest_opset() const = 0;  // 28 for the pinned wheel
  // Of the library: "CPUExecutionProvider", "CUDAExecutionProvider", ...
  virtual std::vector<std::string> providers() const = 0;
  // Sets the CUDA device of sessions that are opened later. Throws std::runtime_error with ONNX
  // Runtime's message if it cannot be used.
  virtual void use_cuda(int device) = 0;

  class Session {
   public:
    virtual ~Session() = default;
    virtual std::vector<std::string> input_names() const = 0;
    virtual std::vector<std::string> output_names() const = 0;
    // Inputs in the model's order. Throws std::runtime_error with ONNX Runtime's message.
    virtual std::vector<HostValue> run(const std::vector<HostValue>& inputs) = 0;
  };
  // Throws std::runtime_error with ONNX Runtime's message (unsupported type, no kernel, ...).
  // `threads` <= 0: the library's choice. `optimize` false runs the graph unchanged. open_file()
  // reads the files itself, and throws Failure if they cannot be read (onnx::map_model). Weights
  // outside the model are copied.
  virtual std::unique_ptr<Session> open_file(const onnx::ModelFile& model, int threads,
                                             bool optimize = true) = 0;
  virtual std::unique_ptr<Session> open_bytes(std::string_view model, int threads,
                                              bool optimize = true) = 0;
};

}  // namespace oe::verify
