// Checks the pickles of a TorchScript archive before any of its code runs. No LibTorch.
#pragma once

#include "lib/archive/archive.h"

namespace oe::archive {

// Reads the archive's pickles. Throws Failure(Refused, OE0115) with the record and the offset in
// it, if
//   - a pickle is not one that LibTorch writes (pickle.h),
//   - it names a class or function that LibTorch's unpickler does not know (except the program's
//     own classes), or uses one in a way that PyTorch does not,
//   - data.pkl is not an object of one of the program's own classes,
//   - the record of a storage is missing, compressed or of another size,
//   - a tensor extends beyond its storage, or its scales do not match it (stored.h),
//   - a sparse tensor has an index outside its sizes (sparse.h),
// and for the reasons in model_json.h.
void check_pickles(const Archive& archive);

// Checks data.pkl of a file that torch.save wrote from tensors and plain values (no objects), by
// the same rules. Throws Failure(Refused, OE0115), also if its tensors, each with its own memory,
// would have many times the bytes of the file. Treats checksums of 0 as absent: torch.save writes
// them if it is told not to compute checksums.
void check_saved_values(const Archive& archive);

}  // namespace oe::archive
