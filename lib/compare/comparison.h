// Compares a model in ONNX Runtime with the module in LibTorch, on the same inputs.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "lib/ir/ir.h"
#include "lib/onnx/value_files.h"
#include "lib/options/options.h"
#include "lib/pipeline/outcome.h"
#include "lib/torch/reference.h"
#include "lib/verify/ort.h"
#include "lib/verify/verify_model.h"

namespace oe {

// An ONNX model and the module from which it was converted.
class Comparison : private verify::Original {
 public:
  // `names`: the model's name of each leaf of `inputs`; a leaf without an input of its name keeps
  // its value. `worlds`: sizes that LibTorch runs, the example's first.
  Comparison(const Options& o, torch_io::ExampleInputs inputs, std::vector<std::string> names,
             std::vector<verify::Sizes> worlds, torch_io::Reference& reference, const ir::Model& m);
  Comparison(const Comparison&) = delete;
  Comparison& operator=(const Comparison&) = delete;

  // Runs the file, and a copy of `probed` that reports the branches its inputs reach. Throws
  // Failure(Mismatch) if ONNX Runtime rejects the file.
  verify::Verification run(const onnx::ModelFile& file, verify::Ort& ort, const ir::Model& probed);
  // Also compares with the files of --inputs-from, and reports a verification without a mismatch.
  // Throws Failure(Mismatch).
  void tell(verify::Verification& v, verify::Ort& ort, Outcome& outcome, Diagnostics& d);
  // Writes the example, and the other sizes at which LibTorch ran, into `folder`.
  void save_test_data(const ir::Model& m, const std::filesystem::path& folder);
  // Writes one run as `folder`/test_data_set_0.
  void save_run(const ir::Model& m, const Draw& draw, const std::filesystem::path& folder);

  verify::Request request;         // refers to this object
  torch_io::Reference::Form form;  // of the outputs
  // Original::undecided; empty: never.
  std::function<std::string(const std::vector<TensorPtr>&)> why_undecided;

 private:
  // LibTorch's results in the model's output types, for --to io=half.
  std::vector<HostValue> as_stated(std::vector<HostValue> values) const;

  HostRun run(const Draw& draw) override;
  std::vector<TensorPtr> inputs(const Draw& draw) override;
  HostRun step(const Draw& draw, bool begin) override;
  std::vector<HostValue> last_in(DType type) override;
  std::vector<HostValue> last_by_qnnpack() override;
  std::vector<HostValue> last_rounded_otherwise(uint64_t how) override;
  std::vector<HostValue> last_as_written() override;
  std::string undecided(const std::vector<TensorPtr>& inputs) override;

  const Options& options_;
  torch_io::ExampleInputs inputs_, steady_;
  torch_io::Reference& reference_;
  std::vector<DType> stated_;               // of the outputs
  std::vector<onnx::FileType> file_types_;  // of the outputs
};

}  // namespace oe
