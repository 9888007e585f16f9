// Checksums of whole archives.
#pragma once

#include "lib/archive/archive.h"

namespace oe::archive {

// Compares the checksum of every record with its bytes, weights included, in as many threads as
// help. Reads the file piece by piece, so that memory does not grow with it. Throws as Archive
// does, with the record, also where the file was cut meanwhile.
void check_sums(const Archive& archive);

}  // namespace oe::archive
