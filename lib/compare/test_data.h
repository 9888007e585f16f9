// ONNX's test data: folders test_data_set_N with input_0.pb, ..., output_0.pb, ...
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/onnx/value_files.h"
#include "lib/options/options.h"
#include "lib/torch/reference.h"
#include "lib/verify/verify_model.h"

namespace oe {

// `o` with what --inputs-from names: the first set is the example, the others are further ones;
// their output_N.pb are what is expected. `o` itself without the option. Throws Failure(Usage).
InputOptions with_test_sets(InputOptions o);

// Compares what ONNX Runtime gives for the example and the further ones with the files of
// `o.expected`, at the tolerances of `r`. `types`: of the outputs of `r`. Returns how many outputs
// were compared; throws Failure(Mismatch or Unreadable).
size_t compare_expected(const Options& o, verify::Ort& ort, const verify::Request& r,
                        const std::vector<onnx::FileType>& types, const torch_io::ExampleInputs& e,
                        const torch_io::Reference::Form& form);

// How a value of this type stands in a file of test data.
onnx::FileType file_type(const ir::Type& t);

// Writes one set into `folder`, which is made. Throws Failure(Unwritable).
void write_test_set(const ir::Model& m, const verify::Request& r, const HostRun& run,
                    const std::filesystem::path& folder);

// Writes a set for each world of `r` into `folder`. `run`: the original at these sizes; where it
// throws std::runtime_error at others than the example's, they are left out. Throws Failure
// (Unwritable, or Unsupported where LibTorch's results are no tensors).
void write_test_sets(const ir::Model& m, const verify::Request& r,
                     const std::function<HostRun(const verify::Sizes&)>& run,
                     const std::filesystem::path& folder);

}  // namespace oe
