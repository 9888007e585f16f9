// The indices of sparse tensors, which LibTorch takes as they are.
#pragma once

#include <string>

#include "lib/archive/archive.h"
#include "lib/archive/stored.h"

namespace oe::archive {

// Reads the indices of `s`, whose storages are the records below `folder`. Throws Malformed where
// one lies outside the tensor, where the rows of a compressed one do not ascend from 0 to the
// number of its elements, or where a part lies outside its storage.
void check_sparse(const Archive& archive, const std::string& folder, const StoredSparse& s);

}  // namespace oe::archive
