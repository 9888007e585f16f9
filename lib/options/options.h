// The parsed options of `onnx-export convert`, `check` and `verify`. Standard library only: the
// supervisor and the worker both fill them from the same arguments (app/options.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/capture/capture_options.h"
#include "lib/lower/export_type.h"
#include "lib/onnx/write_options.h"
#include "lib/optimize/options.h"
#include "lib/precision/request.h"
#include "lib/support/opset_range.h"
#include "lib/torch/input_options.h"
#include "lib/torch/load_options.h"
#include "lib/verify/options.h"

namespace oe {

enum class Checker { Full, Basic, Off };
// --keep-initializers-as-inputs: Auto below IR version 4, which requires it.
enum class KeepInitializers { Auto, Yes, No };

// The task: convert; check, which does the same and writes nothing; or verify, which compares the
// model with an ONNX file.
enum class Task { Convert, Check, Verify };

enum class DiagnosticFormat { Text, Json, Sarif };
enum class Progress { Auto, Always, Never };

// The origin that the file records: producer_version and metadata_props.
struct Provenance {
  bool metadata = true;  // false: no metadata_props
  std::string options;   // options that change the file, in shell syntax
  std::string version;   // of this program
};

struct Options {
  Task task = Task::Convert;
  bool all_opsets = false;  // of check: at every opset
  std::string onnx_file;    // of verify: the file to compare
  std::string bundle;       // of verify: the folder for the reproduction of a difference
  LoadOptions load;
  std::string output;  // final path; "-" is standard output
  bool force = false;
  bool dry_run = false;  // everything but the commit

  int64_t opset = 18;
  std::optional<int64_t> ir_version;

  InputOptions input;
  std::vector<std::string> output_names;
  std::vector<std::pair<std::string, std::string>> renames;  // old, new

  onnx::WriteOptions write;
  Provenance provenance;
  bool export_params = true;  // false: parameters and buffers are inputs
  KeepInitializers keep_initializers = KeepInitializers::Auto;
  lower::ExportType export_type = lower::ExportType::Onnx;
  std::map<std::string, int64_t> custom_opsets;  // domain -> version
  std::vector<std::string> symbolics;            // rule files (lib/rules)
  std::vector<std::string> custom_schemas;       // "lib::op(Tensor x) -> Tensor = x", "@file"
  bool modules_as_functions = false;
  std::vector<std::string> function_classes;  // of the modules; empty: all
  optimize::Options optimize;
  bool ort_target = true;                // --target ort
  std::optional<precision::Request> to;  // --to
  bool strict = false;

  CaptureOptions capture;
  std::string state_file;  // of --state=io, in the output's folder: "policy.state.npz"

  Checker checker = Checker::Full;
  bool verify = false;
  verify::Options verification;
  std::string test_data;  // --save-test-data DIR

  int verbosity = 0;                  // -q: -1, -v: 1
  std::vector<std::string> print_ir;  // "after:capture", "before:optimize", ...
  std::string stop_after;             // the last stage; nothing is written
  DiagnosticFormat diagnostic_format = DiagnosticFormat::Text;
  Progress progress = Progress::Auto;
  std::string log_file;
  std::vector<std::string> reports;         // files; the extension selects the format
  std::string root;                         // of the paths in SARIF
  std::vector<std::string> without_effect;  // options of torch.onnx.export without effect here
  bool time = false;
  bool json = false;

  bool draws_graph() const {
    for (const std::string& file : reports)
      if (file.ends_with(".html")) return true;
    return false;
  }
};

}  // namespace oe
