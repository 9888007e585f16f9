// The facts that reports give of a run: result, inputs, verification, time.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "lib/infer/found.h"
#include "lib/onnx/write_options.h"
#include "lib/pipeline/graph_outline.h"
#include "lib/precision/request.h"
#include "lib/support/diagnostics.h"
#include "lib/verify/covered.h"
#include "lib/verify/findings.h"

namespace oe {

struct StageTime {
  std::string stage;
  double seconds = 0;       // the sum, if it ran more than once
  uint64_t peak_bytes = 0;  // peak memory of the process up to its end
};

// An axis of an input or output.
struct PortAxis {
  std::optional<int64_t> size;       // nothing: the axis is dynamic
  std::string name;                  // of a dynamic axis; empty: it has none
  std::optional<int64_t> low, high;  // declared bounds of its size, inclusive
};

// An input or output of the written graph.
struct Port {
  std::string name;
  // "tensor", "sequence", "optional", "optional sequence", ...: outermost first.
  std::string kind;
  std::string type;                           // of the elements: "float"
  std::optional<std::vector<PortAxis>> dims;  // nothing: the rank is unknown
  std::string argument;  // of an input: the argument, or the part of one, that it is: "cfg.mask"
};
// "x float[batch,3,224,224]"
std::string to_string(const Port& p);

// State that is an input and an output (--state=io).
struct StatePort {
  std::string attribute;      // of the model: "rnn.hidden", "states.0"
  std::string input, output;  // their names
  std::string saved;          // the value in the .pt as JSON; "" for more than 64 elements
};

// The result at one opset (check --all-opsets).
struct AtOpset {
  int64_t opset = 0;
  bool converts = false;
  size_t obstacles = 0, nodes = 0;
};

struct Outcome {
  ExitCode exit_code = ExitCode::Ok;
  int64_t opset = 0, ir_version = 0;
  std::string stopped_after;                // the last stage, where --stop-after ended the chain
  size_t nodes = 0;                         // of all graphs and functions
  std::map<std::string, size_t> operators;  // nodes of each, "Conv", "com.acme::Fold"
  std::optional<size_t> functions;          // of the file, with --modules-as-functions
  std::optional<precision::Summary> precision;  // of --to
  uint64_t parameter_bytes = 0;
  onnx::WriteResult written;
  std::string data_file;  // the location in the model; empty without
  std::vector<Port> inputs, outputs;
  size_t parameter_inputs = 0;  // of --no-export-params, after those
  std::vector<StatePort> state;
  std::string state_file;                // its name; empty without saved state
  std::vector<infer::FoundInput> found;  // if some inputs were inferred
  std::vector<std::string> assumptions;  // what could not be proven
  std::string verification;  // one line: runs, sizes, largest error; empty without --verify
  std::optional<verify::Figures> verified;   // nothing: it was not compared
  std::vector<verify::OutputErrors> errors;  // of verify
  std::vector<verify::SpecialRun> special;
  std::vector<verify::Covered> coverage;  // branches and trip counts that were verified
  std::vector<AtOpset> opsets;            // of check --all-opsets, ascending
  int64_t lowest_opset = 0;  // of check: the lowest that converts; 0: not known, or none
  std::vector<StageTime> times;
  std::optional<GraphOutline> graph;  // for a page that draws it
};

}  // namespace oe
