// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "lib/options.h"
#include "lib/outcome.h"
#include "lib/stages.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Converts `o.model`, writing the caller's private temporary files `model_tmp`, (external data)
// `data_tmp`, (where the outcome has state) `state_tmp` and (--save-test-data) into the existing
// folder `test_tmp`; the caller renames them. --print-ir and -v text goes to `out`. Problems are
// reported in `d`; Failure is thrown for those that stop the run at once; `outcome` then holds what
// was known until there. `on_stage` hears of each stage as it begins.
void convert(const Options& o, const std::filesystem::path& model_tmp,
             const std::filesystem::path& data_tmp, const std::filesystem::path& state_tmp,
             const std::filesystem::path& test_tmp, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const Stages::OnStage& on_stage = {});

}  // namespace oe
