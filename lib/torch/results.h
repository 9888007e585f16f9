// The outputs of a program, from the value that a method returned.
#pragma once

#include <torch/script.h>

#include <optional>
#include <string>
#include <vector>

#include "lib/program/result.h"
#include "lib/support/host_value.h"

namespace oe::torch_io {

// How results become outputs: as capture found it, or, for a file that others made, after the
// kinds of its outputs in their order (without either every list is taken apart, and None left
// out).
struct ResultForm {
  std::optional<program::Results> captured;
  std::vector<program::Result> outputs;
};

// The outputs that `result` of a method gives, and the attributes of `m` that are outputs. Memory
// is not copied. Where a list is not as long as it was at capture there are as many outputs as it
// has. Throws std::runtime_error for what cannot be compared.
std::vector<HostValue> flatten(const c10::IValue& result, const ResultForm& form,
                               const torch::jit::Module& m);

}  // namespace oe::torch_io
