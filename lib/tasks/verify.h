// `verify`: compares an ONNX file of any tool with its TorchScript file.
#pragma once

#include <filesystem>
#include <ostream>

#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/stages.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Compares o.onnx_file with o.load.model. `test_folder`: for --save-test-data; `bundle_folder`: for
// --bundle, gets the inputs of a difference (both private; empty without the option). Throws
// Failure: Mismatch if they differ.
void verify_file(const Options& o, const std::filesystem::path& test_folder,
                 const std::filesystem::path& bundle_folder, Outcome& outcome, Diagnostics& d,
                 std::ostream& out, const Stages::OnStage& on_stage);

}  // namespace oe
