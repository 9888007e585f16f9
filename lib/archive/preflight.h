// What the pickles of a TorchScript archive have to be before anything of it is run. No LibTorch.
#pragma once

#include "lib/archive/archive.h"

namespace oe::archive {

// Reads the archive's pickles. Throws Failure(Refused, OE0115) with the record and the offset in
// it where
//   - one is none that LibTorch writes (pickle.h),
//   - it names a class or function that LibTorch's unpickler does not know, the program's own
//     classes apart, or uses one in another way than PyTorch does,
//   - data.pkl holds something else than an object of the program's own classes,
//   - a storage has no record of its own bytes, or one that is compressed or of another size,
//   - a tensor reaches beyond its storage, or its scales do not fit it (stored.h),
//   - a sparse tensor has an index outside its sizes (sparse.h),
// and as model_json.h says.
void check_pickles(const Archive& archive);

// Checks data.pkl of a file that torch.save wrote from tensors and plain values (no objects), by
// the same rules. Throws Failure(Refused, OE0115), also where its tensors have many times the bytes
// of the file when each has memory of its own, as copies of them do. Takes checksums of 0 for
// absent ones, which torch.save writes where it is asked not to compute them.
void check_saved_values(const Archive& archive);

}  // namespace oe::archive
