// A module's state as inputs and outputs of the export (--state=io): attributes by their state_dict
// names.
#pragma once

#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/api/module.h>

#include <string>
#include <vector>

#include "lib/torch/inputs.h"

namespace oe::torch_io {

// What stands before an attribute's name in those of inputs and outputs: "state_in.rnn.hidden".
inline constexpr char kStateIn[] = "state_in.", kStateOut[] = "state_out.";

// The attribute at "layer1.0.bn.running_mean", or an element of one: "past.0", "cache.key". Throws
// std::runtime_error where there is none.
c10::IValue attribute_value(const torch::jit::Module& m, const std::string& path);
// The same attribute (no element) holds a copy of `value` from now on, with memory of its own.
void set_attribute(const torch::jit::Module& m, const std::string& path, const c10::IValue& value);

// The attributes at `paths` become arguments behind those that `e` has, and their tensors and
// numbers leaves with the saved values. --input-names and --dynamic-axes hold for them by their
// names; --dynamic-batch and '*' mean the method's own inputs alone. Throws Failure: Unsupported
// for a value that no input can be (None, a string, an empty list), Usage as make_inputs() does.
void add_state(const torch::jit::Module& m, const std::vector<std::string>& paths,
               ExampleInputs& e);

// All parameters and buffers become arguments behind those that `e` has, in state_dict order and by
// their names; tied ones once. With --no-export-params --input-names goes on into them. Nothing is
// drawn for them that they do not hold.
void add_parameters(const torch::jit::Module& m, bool stay_inputs, ExampleInputs& e);

// What the method itself takes of `arguments`; the rest is state.
std::vector<c10::IValue> own_arguments(const ExampleInputs& e,
                                       const std::vector<c10::IValue>& arguments);
// Puts the values behind those into the module's attributes.
void set_state(const torch::jit::Module& m, const ExampleInputs& e,
               const std::vector<c10::IValue>& arguments);

}  // namespace oe::torch_io
