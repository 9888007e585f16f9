// The C++ interface of onnx-export: TorchScript files to ONNX, from a program of your own.
//
//   onnx_export::Tool tool;
//   onnx_export::ConvertOptions options;
//   options.inputs = {"x:batch=2x3x224x224"};
//   options.verify = true;
//   const onnx_export::Result r = tool.convert("model.pt", "model.onnx", options);
//   for (const onnx_export::Problem& p : r.problems) std::cerr << p.code << ": " << p.message <<
//   "\n";
//
// Each call runs the installed program `onnx-export`, which confines and limits itself, and reads
// its JSON document (docs/schema/report.schema.json). Your process does not load LibTorch and runs
// no code of the model. Several threads may make calls at once.
//
// ABI: the library is static and its types are plain; build it with the compiler of your program.
// New members are added at the end of a structure and raise the minor version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace onnx_export {

// The program cannot be started, or printed no document.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

enum class Severity { Error, Warning, Note };

struct Problem {
  Severity severity = Severity::Error;
  std::string code;                // "OE5101": onnx-export explain OE5101
  std::string op;                  // "aten::foo"; empty: not about an operator
  std::string message, hint;       // plain text
  std::string module, file, text;  // location in the model; empty: not known
  int line = 0;                    // from 1; 0: not known
};

// An axis of an input or output: a size, or a name (which may be empty) with bounds.
struct Axis {
  std::optional<int64_t> size;
  std::string name;
  std::optional<int64_t> low, high;  // inclusive
};

struct Port {
  std::string name;
  std::string kind;                       // "tensor", "sequence", "optional", ...
  std::string type;                       // of the elements: "float", "int64"
  std::optional<std::vector<Axis>> axes;  // nothing: the rank is not known
  std::string argument;                   // of an input: its argument of the model
};

struct Verification {
  std::string verdict;  // "agrees", "differs", "partly" or "not compared"
  std::string text;     // one line
  int64_t runs = 0, sizes = 0, elements = 0;
  std::optional<double> largest_error;  // absolute
  std::optional<double> latency_ms;     // of a call of ONNX Runtime, with "--latency"
};

// The exit codes of the program: docs/cli.md.
struct Result {
  int exit_code = 0;
  bool ok() const { return exit_code == 0; }
  // 0, or 11: the file was written, but could not be verified fully.
  bool written() const { return !output.empty(); }
  std::string output;              // empty: no file was written
  std::string external_data_file;  // in the same folder; empty: none
  int64_t opset = 0;
  uint64_t nodes = 0, model_bytes = 0, data_bytes = 0;
  std::map<std::string, uint64_t> operators;  // nodes of each
  std::vector<Port> inputs, outputs;
  std::vector<Problem> problems;
  std::vector<std::string> assumptions;  // conditions that the file relies on
  std::optional<Verification> verification;
  std::string json;  // the whole document
};

struct ConvertOptions {
  std::vector<std::string> inputs;        // each in the form of --input
  std::vector<std::string> dynamic_axes;  // each in --dynamic-axes form; "every": all that run
  std::optional<int> opset;               // 7 to 28; nothing: 18
  std::string method;                     // empty: forward
  bool verify = false;                    // compare with LibTorch in ONNX Runtime
  bool force = true;                      // overwrite an existing file
  std::vector<std::string> more;          // any other options of the command line: "--to=fp16"
};

class Tool {
 public:
  // `program`: the path of onnx-export. Empty: ONNX_EXPORT_TOOL, else the one in PATH.
  explicit Tool(std::string program = {});

  // Writes `output`, and further files in its folder if needed: all of them, or none.
  // A refusal is a problem in the result. All functions throw Error.
  Result convert(const std::string& model, const std::string& output,
                 const ConvertOptions& options = {}) const;
  // Lists everything that blocks the conversion; writes nothing.
  Result check(const std::string& model, const ConvertOptions& options = {}) const;
  // Compares an ONNX file, made by any tool, with the model.
  Result verify(const std::string& model, const std::string& onnx_file,
                const ConvertOptions& options = {}) const;
  // The document of `inspect` for a .pt or an .onnx file: its content, without running it.
  std::string inspect(const std::string& file) const;
  std::string version() const;  // "0.1.0"

  const std::string& program() const { return program_; }

 private:
  std::string program_;
};

}  // namespace onnx_export
