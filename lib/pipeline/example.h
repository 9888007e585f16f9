// The example inputs of a run: the user's description, completed by inference.
#pragma once

#include <iosfwd>

#include "lib/infer/infer.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/support/diagnostics.h"
#include "lib/torch/inputs.h"
#include "lib/torch/load.h"

namespace oe {

// The inputs as described, the rest inferred from the program (`found` lists it). `refused`: inputs
// that an earlier call found and LibTorch refused with data. Throws Failure(Usage).
torch_io::ExampleInputs example_inputs(const Options& o, const torch_io::Loaded& loaded,
                                       torch_io::ExampleFiles& files, infer::Found& found,
                                       const infer::Found* refused = nullptr);

// Finds the axes with which the method runs at other sizes, for --dynamic-axes without a value.
// Adds the findings to `outcome`; -v text goes to `out`.
void find_free_axes(const Options& o, const torch_io::Loaded& loaded, const infer::Found& found,
                    torch_io::ExampleInputs& inputs, Outcome& outcome, std::ostream& out);
// Warns of inferred properties that the model does not force (OE0241). Throws Failure(Usage,
// OE0242) with --guess=sure.
void report_doubts(const Options& o, const Outcome& outcome, Diagnostics& d);

// Runs only the first stages. `outcome.found` lists the inputs of the method, whether the options,
// the file or the program specify them. Throws Failure if no inputs were found that the method
// accepts.
void tell_inputs(const Options& o, Outcome& outcome);

}  // namespace oe
