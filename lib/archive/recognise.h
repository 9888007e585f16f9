// Recognizes the format of a file that is not a TorchScript archive. Needs no LibTorch.
#pragma once

#include <filesystem>

#include "lib/archive/archive.h"

namespace oe::archive {

// The archive, if the file is a TorchScript archive that satisfies archive.h, preflight.h and
// code.h. The file is opened once, so that readers of the archive's file() get the checked bytes.
// Otherwise throws Failure(Unreadable) with the format of the file (missing, empty, a directory,
// text, a truncated or foreign zip, a plain state_dict, an eager pickle, a .pt2, ...) and how to
// get a TorchScript file from it.
Archive require_torchscript(const std::filesystem::path& path);
// The same for a file that is open; `path` is for messages.
Archive require_torchscript(const std::filesystem::path& path, File file);

// Whether the file is taken for an ONNX model: its name ends so, or it begins as one does.
bool is_onnx(const std::filesystem::path& path);

}  // namespace oe::archive
