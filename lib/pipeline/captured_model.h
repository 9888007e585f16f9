// The first half of the chain, which convert and check share: load > inputs > capture.
#pragma once

#include <cstddef>

#include "lib/capture/capture.h"
#include "lib/infer/infer.h"
#include "lib/lower/user_rules.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/stages.h"
#include "lib/rules/rules.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"

namespace oe {

// The module with an example of its inputs. Nothing has run it with data yet.
struct LoadedModel {
  // Warnings about the file go to `d`. Throws Failure.
  LoadedModel(const Options& o, Diagnostics& d);
  LoadedModel(const LoadedModel&) = delete;
  LoadedModel& operator=(const LoadedModel&) = delete;

  const rules::Rules rules;
  const lower::UserRules user_rules;  // at the target opset
  const torch_io::Loaded module;
  torch_io::ExampleFiles files;
  infer::Found found;
  torch_io::ExampleInputs inputs;
};

// Stage capture. Completes the inputs: axes that are found to be dynamic, parameters, state. The
// program is to be used only where no error was reported. Throws Failure where the first obstacle
// ends it.
capture::Captured capture_model(LoadedModel& m, const Options& o, Outcome& outcome, Stages& stages,
                                Diagnostics& d);

}  // namespace oe
