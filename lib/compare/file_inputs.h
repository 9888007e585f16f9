// The inputs of an ONNX file, whoever made it, and the arguments of the module's method.
#pragma once

#include <string>
#include <vector>

#include "lib/infer/infer.h"
#include "lib/ir/ir.h"
#include "lib/options/options.h"
#include "lib/torch/inputs.h"

namespace oe {

// Which leaves of the arguments are inputs of the file.
struct FileInputs {
  std::vector<std::string> names;       // of each leaf in the file; "": it is no input there
  std::vector<std::string> parameters;  // inputs that are parameters or buffers of the module
};

// By name where the file's inputs are all called as leaves are (or as --input-names calls them),
// else in order; numbers are left out where only tensors fit. `state_names`: of the module. Throws
// Failure(Usage).
FileInputs match_inputs(const ir::Model& file, const torch_io::ExampleInputs& e,
                        const std::vector<std::string>& state_names);

// Whether the file takes the example's ranks and sizes.
bool takes(const ir::Model& file, const torch_io::ExampleInputs& e, const FileInputs& inputs);

// What the file says of its inputs: sizes, and '?' where they may vary; with the names of the
// leaves, or in order. `arguments`: of the method; numbers get their default.
std::vector<InputSpec> specs_of_file(const ir::Model& file, const torch_io::ExampleInputs& e,
                                     const std::vector<std::string>& state_names,
                                     const std::vector<torch_io::Argument>& arguments);

// Axes that the file leaves open become dynamic; those that the module needs equal share a name.
void open_axes(const ir::Model& file, const FileInputs& inputs,
               const std::vector<std::vector<infer::Freedom>>& freedom, torch_io::ExampleInputs& e);

}  // namespace oe
