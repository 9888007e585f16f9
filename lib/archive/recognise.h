// Names what a file is when it is no TorchScript archive. Needs no LibTorch.
#pragma once

#include <filesystem>

namespace oe::archive {

// Returns when the file is a TorchScript archive that keeps the rules of archive.h, preflight.h and
// code.h. Otherwise throws Failure(Unreadable) that says what it is (missing, empty, a directory,
// text, a truncated or foreign zip, a plain state_dict, an eager pickle, a .pt2, ...) and how to
// get a TorchScript file from it.
void require_torchscript(const std::filesystem::path& path);

// Whether the file is taken for an ONNX model: its name ends so, or it begins as one does.
bool is_onnx(const std::filesystem::path& path);

}  // namespace oe::archive
