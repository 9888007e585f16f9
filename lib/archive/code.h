// What the code of an archive has to be before LibTorch parses it. No LibTorch.
#pragma once

#include "lib/archive/archive.h"

namespace oe::archive {

// The deepest that brackets may nest: LibTorch's parser and compiler call themselves for each.
constexpr size_t kDeepestCode = 10'000;

// Reads the archive's code. Throws Failure(Refused, OE0118) with the record and the line where
// brackets nest deeper than kDeepestCode or are not closed, or where it calls an operator that
// opens files of the machine it runs on (aten::from_file, aten::save).
void check_code(const Archive& archive);

}  // namespace oe::archive
