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
  // External data and the saved state; if a name is taken, the file gets another name.
  std::filesystem::path data, state;
  std::filesystem::path test;          // of --save-test-data: a folder that exists
  onnx::SharedData* shared = nullptr;  // the parts of `data` that other models wrote
  std::vector<std::string> taken;      // onnx::DataName, for the state too
};

// Converts `o.load.model` and writes `files`. --print-ir and -v text goes to `out`. Problems are
// reported in `d`; Failure is thrown for those that stop the run, and `outcome` then has the facts
// known by then. `on_stage` is called as each stage begins.
void convert(const Options& o, const TemporaryFiles& files, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const Stages::OnStage& on_stage = {});

}  // namespace oe
