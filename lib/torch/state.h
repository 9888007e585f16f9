// A module's state as inputs and outputs of the export (--state=io): attributes by their state_dict
// names.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// The prefix of an attribute's name in the names of inputs and outputs: "state_in.rnn.hidden".
inline constexpr char kStateIn[] = "state_in.", kStateOut[] = "state_out.";

// The attribute at "layer1.0.bn.running_mean", or an element of one: "past.0", "cache.key". Throws
// std::runtime_error if it does not exist.
c10::IValue attribute_value(const torch::jit::Module& m, const std::string& path);
// Sets the same attribute (not an element of it) to a copy of `value`, with its own memory.
void set_attribute(const torch::jit::Module& m, const std::string& path, const c10::IValue& value);

// Adds the attributes at `paths` as arguments after those of `e`, and their tensors and numbers as
// leaves with the saved values. --input-names and --dynamic-axes apply to them by name;
// --dynamic-batch and '*' mean the method's own inputs only. Throws Failure: Unsupported for a
// value that cannot be an input (None, a string, an empty list), Usage as make_inputs() does.
void add_state(const torch::jit::Module& m, const std::vector<std::string>& paths,
               ExampleInputs& e);

// Adds all parameters and buffers as arguments after those of `e`, in state_dict order, with their
// names; tied ones once. With --no-export-params, --input-names also names them. They keep their
// own values in every run.
void add_parameters(const torch::jit::Module& m, bool stay_inputs, ExampleInputs& e);

// The part of `arguments` that the method itself takes.
std::vector<c10::IValue> own_arguments(const ExampleInputs& e,
                                       const std::vector<c10::IValue>& arguments);
// Sets the module's attributes to the other values.
void set_state(const torch::jit::Module& m, const ExampleInputs& e,
               const std::vector<c10::IValue>& arguments);

}  // namespace oe::torch_io
