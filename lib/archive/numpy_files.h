// NumPy's .npy and .npz files, read strictly. No LibTorch.
#pragma once

#include <string>

#include "lib/support/tensor.h"

namespace oe::archive {

// The array of a .npy file. Throws Failure(Unreadable, OE0131) with the file and what is wrong with
// it; its size is compared with its header before anything more is read.
TensorPtr read_npy(const std::string& file);
// One of a .npz file; `key` may be empty where there is one alone. Throws as read_npy(), also where
// the array is compressed and says that it is larger than 64 MiB and 20 times its bytes.
TensorPtr read_npz(const std::string& file, const std::string& key);
// The array that `bytes`, a whole .npy file, hold. `name` is for messages.
TensorPtr parse_npy(const std::string& name, std::string bytes);

}  // namespace oe::archive
