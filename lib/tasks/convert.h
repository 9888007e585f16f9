// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include "lib/onnx/shared_data.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/stages.h"
#include "lib/support/diagnostics.h"

namespace oe {

// The caller's private temporary files, which it renames.
struct TemporaryFiles {
  std::filesystem::path model;
  // External data and the saved state; where these names are taken, under another one beside them.
  std::filesystem::path data, state;
  std::filesystem::path test;          // of --save-test-data: a folder that exists
  onnx::SharedData* shared = nullptr;  // what other models have put into `data`
  std::vector<std::string> taken;      // onnx::DataName, for the state too
};

// Converts `o.load.model`, writing `files`. --print-ir and -v text goes to `out`. Problems are
// reported in `d`; Failure is thrown for those that stop the run at once; `outcome` then holds what
// was known until there. `on_stage` hears of each stage as it begins.
void convert(const Options& o, const TemporaryFiles& files, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const Stages::OnStage& on_stage = {});

}  // namespace oe
