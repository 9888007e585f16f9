// NumPy's .npz: named arrays in one file.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/support/tensor.h"

namespace oe {

// Writes what numpy.load() reads: a stored (not compressed) zip archive with an .npy record for
// each array. The bytes depend on the arrays alone. Element types that NumPy lacks (bfloat16) are
// written as raw bytes of their size (dtype 'V2'). Throws Failure: Unwritable with the system's
// reason, Limit past the 4 GiB of a plain zip archive.
void write_npz(const std::vector<std::pair<std::string, TensorPtr>>& arrays,
               const std::filesystem::path& file);

// The element type that NumPy's "<f4" names, whatever the order of its bytes; Undefined where there
// is none.
DType numpy_type(std::string_view descr);

}  // namespace oe
