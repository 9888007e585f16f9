// Where the worker finds LibTorch when it is not in its RUNPATH.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// The folders that LD_LIBRARY_PATH must begin with: that of LibTorch's libraries, and that of the
// onnxruntime wheel beside it. Empty where the worker finds LibTorch by itself.
//
// LibTorch is the one that ONNX_EXPORT_TORCH names (--torch sets it), else the one that the dynamic
// linker finds, else that of the active virtual environment, else that of the system's Python.
// Throws Failure(MissingPart, OE0006): there is none, or it has another version than the build's.
std::vector<std::string> libtorch_folders();

}  // namespace oe::app
