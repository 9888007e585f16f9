// Everything `onnx-export convert`, `check` and `verify` can be told, parsed. Standard library
// only: the supervisor and the worker both fill it from the same arguments (app/options.cpp).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "lib/lower/export_type.h"
#include "lib/onnx/write_options.h"
#include "lib/precision/request.h"
#include "lib/support/dtype.h"

namespace oe {

// One DIM of an input SPEC: 224 | ? | batch | batch=2 | 1..8 | batch=1..8
struct DimSpec {
  std::optional<int64_t> size;  // example size, when given
  std::string symbol;           // axis name, when given; such an axis is dynamic
  bool dynamic = false;         // named, '?', or bounded
  std::optional<int64_t> low, high;
};

// One --input SPEC (README.md, "Options").
struct InputSpec {
  std::string name;  // may be a path (x.0, cfg.mask); empty: positional
  std::optional<std::vector<DimSpec>> shape;
  DType dtype = DType::Undefined;  // Undefined: float for tensors, or what the file knows
  std::string value;               // text after '='; empty: random of the given shape and type
};

// --dynamic-axes: input or output (name, index as text, or "*") -> axis -> name ("": automatic).
struct AxesSpec {
  bool every_axis = false;  // the option without a value
  std::vector<std::pair<std::string, std::map<int64_t, std::string>>> entries;
  bool empty() const { return !every_axis && entries.empty(); }
};

// The opsets the ladder reaches (opsets/); the newest is the ONNX library's own.
constexpr int64_t kOldestOpset = 7, kNewestOpset = 28;

enum class CaptureMode { Auto, Script, Trace };
enum class Training { Eval, Preserve, Train };
// What becomes of attributes that the method writes: --state=discard, outputs, io.
enum class State { Discard, Outputs, InputsAndOutputs };
enum class Checker { Full, Basic, Off };
// Where ONNX Runtime runs what is verified (--provider).
enum class Provider { Cpu, Cuda };
// --keep-initializers-as-inputs: Auto below IR version 4, where they have to be.
enum class KeepInitializers { Auto, Yes, No };

// What is done with the model: converted; everything but that, and nothing written; compared with
// an ONNX file.
enum class Task { Convert, Check, Verify };

enum class DiagnosticFormat { Text, Json, Sarif };
enum class Progress { Auto, Always, Never };

// Sizes of the converter's own choosing at which LibTorch ended the process: not run again.
struct LeftOut {
  std::string sizes;  // as in lib/support/trial.h
  std::string op;     // the operator that ran
};

struct Options {
  Task task = Task::Convert;
  bool all_opsets = false;  // of check: at every opset
  std::string model;        // path of the .pt
  std::string onnx_file;    // of verify: what is compared with it
  std::string bundle;       // of verify: the folder that gets what replays a difference
  std::vector<std::string> custom_op_libs;  // shared libraries that register operators
  std::string output;                       // final path; "-" is standard output
  bool force = false;
  bool dry_run = false;  // everything but the commit

  int64_t opset = 18;
  std::optional<int64_t> ir_version;

  std::vector<InputSpec> inputs;
  std::string inputs_file;  // --inputs FILE.pt
  std::string inputs_from;  // --inputs-from DIR
  // Further examples: each replaces some of the inputs. Axes whose sizes differ are dynamic.
  std::vector<std::vector<InputSpec>> alternatives;
  std::vector<std::string> constants;  // arguments that are no inputs but keep the example's value
  bool guess = true;                   // what is not said of the inputs is found (--guess=auto)
  bool guess_sure = false;             // only where the program forces it (--guess=sure)
  uint64_t seed = 0;
  AxesSpec dynamic_axes;
  bool dynamic_batch = false;

  std::vector<std::string> input_names, output_names;
  std::vector<std::pair<std::string, std::string>> renames;  // old, new

  onnx::WriteOptions write;
  bool export_params = true;  // false: parameters and buffers are inputs
  KeepInitializers keep_initializers = KeepInitializers::Auto;
  lower::ExportType export_type = lower::ExportType::Onnx;
  std::map<std::string, int64_t> custom_opsets;  // domain -> version
  std::vector<std::string> symbolics;            // rule files (lib/rules)
  std::vector<std::string> custom_schemas;       // "lib::op(Tensor x) -> Tensor = x", "@file"
  bool modules_as_functions = false;
  std::vector<std::string> function_classes;  // of the modules; empty: all
  bool constant_folding = true;
  int64_t fold_limit = 1 << 20;
  bool ort_target = true;                // --target ort
  std::optional<precision::Request> to;  // --to
  bool strict = false;

  CaptureMode mode = CaptureMode::Auto;
  int64_t unroll = 64;  // longest loop of a known number of iterations that is unrolled
  Training training = Training::Eval;
  State state = State::Discard;
  std::string state_file;  // of --state=io, in the output's folder: "policy.state.npz"
  std::string method = "forward";
  // All that are converted, where they are several: lib/methods.h has what each is told.
  std::vector<std::string> methods;
  int threads = 0;             // 0: LibTorch's choice
  std::string device = "cpu";  // "cpu", "cuda:0", "cuda:1", ...

  Checker checker = Checker::Full;
  bool verify = false;
  int verify_runs = 3;
  std::vector<std::pair<std::string, double>> atol, rtol;  // output name ("": all), value
  std::string ort_lib;
  Provider provider = Provider::Cpu;
  std::string test_data;  // --save-test-data DIR
  // Files output_N.pb of --inputs-from, for the example and for each alternative: N, path.
  std::vector<std::vector<std::pair<size_t, std::string>>> expected;
  std::vector<LeftOut> left_out;  // by the supervisor, when it repeats a run

  int verbosity = 0;                  // -q: -1, -v: 1
  std::vector<std::string> print_ir;  // "after:capture", "before:optimize", ...
  std::string stop_after;             // the last stage; nothing is written
  DiagnosticFormat diagnostic_format = DiagnosticFormat::Text;
  Progress progress = Progress::Auto;
  std::string log_file;
  std::vector<std::string> without_effect;  // options of torch.onnx.export that say nothing here
  bool time = false;
  bool json = false;
};

}  // namespace oe
