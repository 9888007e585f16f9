// The example inputs of a run: what is said of them, completed with what the program tells.
#pragma once

#include <iosfwd>

#include "lib/infer/infer.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"

namespace oe {

// As they are described, and the rest as it is found in the program (which `found` then tells).
// `refused`: what was found before, and LibTorch refused with data. Throws Failure(Usage).
torch_io::ExampleInputs example_inputs(const Options& o, const torch_io::Loaded& loaded,
                                       torch_io::ExampleFiles& files, infer::Found& found,
                                       const infer::Found* refused = nullptr);

// The axes that the method runs with at other sizes: --dynamic-axes without a value names them.
// `outcome` is told what was found; -v text goes to `out`.
void find_free_axes(const Options& o, const torch_io::Loaded& loaded, const infer::Found& found,
                    torch_io::ExampleInputs& inputs, Outcome& outcome, std::ostream& out);
// Warns of what was found and is not forced (OE0241). Throws Failure(Usage, OE0242) with
// --guess=sure.
void report_doubts(const Options& o, const Outcome& outcome, Diagnostics& d);

// The first stages alone: `outcome.found` tells what inputs the method takes, whoever says so: the
// options, the file or its program. Throws Failure where none were found that it runs on.
void tell_inputs(const Options& o, Outcome& outcome);

}  // namespace oe
