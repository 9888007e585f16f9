// What the pickles of a TorchScript archive have to be before anything of it is run. No LibTorch.
#pragma once

#include "lib/archive/archive.h"

namespace oe::archive {

// Reads the archive's pickles. Throws Failure(Refused, OE0115) with the record and the offset in
// it where
//   - one is none that LibTorch writes (pickle.h),
//   - it names a class or function outside torch, collections, builtins and the program's own,
//   - a storage has no record of its own bytes, or one that is compressed or of another size,
//   - a tensor reaches beyond its storage,
// and as model_json.h says.
void check_pickles(const Archive& archive);

}  // namespace oe::archive
