// `check`: the chain up to the checked model, at one opset or at all; writes nothing.
#pragma once

#include <ostream>

#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/pipeline/stages.h"
#include "lib/support/diagnostics.h"

namespace oe {

// Reports every obstacle at o.opset in `d`, and the number of obstacles at each opset in
// `outcome.opsets` (--all-opsets). The outcome's exit code is Unsupported if the model does not
// convert there, or at any opset. Throws Failure like convert() if a first obstacle ends the
// run.
void check_model(const Options& o, Outcome& outcome, Diagnostics& d, std::ostream& out,
                 const Stages::OnStage& on_stage = {});

}  // namespace oe
