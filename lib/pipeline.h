// The chain load > capture > lower > optimize > legalize > check > write > verify, and nothing
// else.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/infer/found.h"
#include "lib/options.h"
#include "lib/support/diagnostics.h"
#include "lib/verify/covered.h"

namespace oe {

struct StageTime {
  std::string stage;
  double seconds = 0;
};

// State that is an input and an output (--state=io).
struct StatePort {
  std::string attribute;      // of the model: "rnn.hidden", "states.0"
  std::string input, output;  // their names
  std::string saved;          // the value in the .pt as JSON; "" where it has more than 64 elements
};

struct Outcome {
  ExitCode exit_code = ExitCode::Ok;
  int64_t opset = 0, ir_version = 0;
  size_t nodes = 0;                 // of all graphs and functions
  std::optional<size_t> functions;  // of the file, with --modules-as-functions
  uint64_t parameter_bytes = 0;
  onnx::WriteResult written;
  std::vector<std::string> inputs, outputs;  // "x float[batch,3,224,224]"
  size_t parameter_inputs = 0;               // of --no-export-params, behind those
  std::vector<StatePort> state;
  std::vector<infer::FoundInput> found;  // where not everything was said of the inputs
  std::vector<std::string> assumptions;  // what could not be proven
  std::string verification;  // one line: runs, sizes, largest error; empty when not asked for
  std::vector<verify::Covered> coverage;  // which branches and trips the verification drove
  std::vector<StageTime> times;
};

// Converts `o.model`, writing the caller's private temporary files `model_tmp`, (external data)
// `data_tmp`, (where the outcome has state) `state_tmp` and (--save-test-data) into the existing
// folder `test_tmp`; the caller renames them. --print-ir and
// -v text goes to `out`. Problems are reported in `d`; Failure is thrown for those that stop the
// run at once; `outcome` then holds what was known until there. `on_stage` hears of each stage as
// it begins.
void convert(const Options& o, const std::filesystem::path& model_tmp,
             const std::filesystem::path& data_tmp, const std::filesystem::path& state_tmp,
             const std::filesystem::path& test_tmp, Outcome& outcome, Diagnostics& d,
             std::ostream& out, const std::function<void(std::string_view)>& on_stage = {});

// The first stages alone: `outcome.found` tells what inputs the method takes, whoever says so: the
// options, the file or its program. Throws Failure where none were found that it runs on.
void tell_inputs(const Options& o, Outcome& outcome);

}  // namespace oe
