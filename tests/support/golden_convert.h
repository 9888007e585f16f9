// A case's options, and the stages behind capture.
#pragma once

#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/options.h"
#include "lib/program/program.h"
#include "lib/support/diagnostics.h"
#include "tests/support/golden_file.h"

namespace oe::golden {

// What the command line would be given.
Options options_of(const Case& c);

// "STAGE is malformed: the first problem", when there is one.
void throw_problems(const std::string& stage, const std::vector<std::string>& problems);
// The first error as a Failure whose text is all of them.
void throw_errors(const Diagnostics& d, int64_t opset);

// Lowers, optimizes and walks down. Throws Failure where the converter refuses.
ir::Model convert_at(const program::Program& p, int64_t opset);

}  // namespace oe::golden
