// --verify and --save-test-data: the converted model beside LibTorch's own runs.
#pragma once

#include <filesystem>
#include <memory>

#include "lib/ir/ir.h"
#include "lib/pipeline/captured_model.h"
#include "lib/torch/reference.h"
#include "lib/verify/ort.h"

namespace oe {

// ONNX Runtime. Throws Failure(MissingPart).
std::shared_ptr<verify::Ort> load_ort(const Options& o);

// Warns where LibTorch's default executor, which runs a method by another graph once it has
// profiled it, thereby changes what comes out: the user has to know which of the two the file is
// compared with.
void compare_calls(torch_io::Reference& reference, const torch_io::ExampleInputs& e,
                   Diagnostics& d);

// What was converted, for both that follow.
struct Converted {
  const Options& options;
  const capture::Captured& captured;
  const torch_io::ExampleInputs& inputs;
  const ir::Model& model;
  torch_io::Reference& reference;
};

// --save-test-data.
void save_test_data(const Converted& what, const std::filesystem::path& folder);

// Compares the written file with LibTorch; what is found goes to `outcome` and `d`. Throws
// Failure(Mismatch).
void verify_written(const Converted& what, const std::filesystem::path& file, verify::Ort& ort,
                    const lower::UserRules& rules, Outcome& outcome, Diagnostics& d);

}  // namespace oe
