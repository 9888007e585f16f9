// `check`: the chain up to the checked model, at one opset or at all; nothing is written.
#pragma once

#include <ostream>

#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/stages.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Every obstacle at o.opset is reported in `d`, and how many there are at each opset in
// `outcome.opsets` (--all-opsets). The outcome's exit code is Unsupported where the model does not
// convert there, or at none. Failure is thrown where a first obstacle ends the run, as by
// convert().
void check_model(const Options& o, Outcome& outcome, Diagnostics& d, std::ostream& out,
                 const Stages::OnStage& on_stage = {});

}  // namespace oe
