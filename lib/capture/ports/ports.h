// Between the caller's values and the program's ports: arguments and state in, results and state
// out.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "lib/capture/executor.h"
#include "lib/torch/inputs.h"

namespace oe::capture {

// The method's arguments with symbolic leaves, which become the program's inputs; then the values
// of `e.state`. `leaves`: what each world has for them, in the order of torch_io::leaf_values();
// `axis_ids`: of the dynamic axes, by name.
std::vector<AbstractValue> make_arguments(Executor& ex, const torch_io::ExampleInputs& e,
                                          const std::vector<std::vector<c10::IValue>>& leaves,
                                          const std::map<std::string, int>& axis_ids);

// Flattens a value into outputs of the program; dict keys and field names become output names.
// Throws Failure(Unsupported) for what ONNX has no output for; None is left out, with a note.
program::Result add_outputs(Executor& ex, const AbstractValue& value, const std::string& name,
                            Diagnostics& d);

// The same for state that is an input too. What is in a named tuple may be in a plain one after the
// call, so that fields have their index as name.
program::Result add_persistent(Executor& ex, const AbstractValue& value, const std::string& name,
                               Diagnostics& d);

}  // namespace oe::capture
