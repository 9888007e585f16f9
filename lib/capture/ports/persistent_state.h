// State that is carried from call to call (--state): written attributes as outputs, and as inputs.
#pragma once

#include "lib/capture/capture.h"
#include "lib/capture/executor.h"
#include "lib/torch/inputs.h"

namespace oe::capture {

// What the run left in the model's attributes: outputs for --state=outputs; for --state=io those of
// `inputs.state`, with `out.state` saying which input each belongs to, unless others were written
// too: then `out.found` has these. A note for --state=discard.
void add_state_outputs(Executor& ex, const torch_io::ExampleInputs& inputs,
                       const std::string& method, State state, Captured& out, Diagnostics& d);

// For --state=io: whether `inputs` were too little: attributes that the capture found are added to
// them, and axes that the next call may find at another size become dynamic. Throws
// Failure(Unsupported) for state that has another type after the call than before it.
bool widen_state(const torch_io::Loaded& m, const Captured& c, torch_io::ExampleInputs& inputs);

}  // namespace oe::capture
