// TorchScript modules out of golden cases.
#pragma once

#include <filesystem>
#include <vector>

#include "lib/torch/load.h"
#include "tests/support/golden_file.h"

namespace oe::golden {

// Whether LibTorch has the operators that the case needs.
bool can_be_made(const Case& c);

// Compiles the case's source with LibTorch's own front end. Throws what LibTorch throws.
torch_io::Loaded define_module(const Case& c);

// The `-- python` cases of `file`, made in `directory`.
struct PythonCases {
  std::filesystem::path file, directory;
};
// Makes them all in one process of the Python interpreter; writes DIR/<index>.pt, or
// DIR/<index>.error with the message. Throws std::runtime_error when Python cannot be run.
void make_python_modules(const std::filesystem::path& python,
                         const std::vector<PythonCases>& files);
// Loads what make_python_modules() made for case `index` (0-based).
torch_io::Loaded load_python_module(const std::filesystem::path& directory, size_t index);

}  // namespace oe::golden
