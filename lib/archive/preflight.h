// What the pickles of a TorchScript archive have to be before anything of it is run. No LibTorch.
#pragma once

#include <string>

#include "lib/archive/archive.h"
#include "lib/archive/pickle.h"

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

// The same for the pickle of one record, whose storages are the records below `folder`. Throws
// BadPickle or Malformed.
void check_pickle(const Archive& archive, const ValuePtr& pickle, const std::string& folder);

}  // namespace oe::archive
