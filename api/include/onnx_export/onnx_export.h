/// \file
/// The C++ interface of onnx-export: TorchScript files to ONNX, from a program of your own.
///
/// \code
/// onnx_export::Tool tool;
/// onnx_export::ConvertOptions options;
/// options.inputs = {"x:batch=2x3x224x224"};
/// options.verify = true;
/// const onnx_export::Result r = tool.convert("model.pt", "model.onnx", options);
/// for (const onnx_export::Problem& p : r.problems)
///   std::cerr << p.code << ": " << p.message << "\n";
/// \endcode
///
/// Each call runs the installed program `onnx-export`, which confines and limits itself, and reads
/// its JSON document (docs/schema/report.schema.json). Your process does not load LibTorch and
/// runs no code of the model. Several threads may make calls at once.
///
/// ABI: the library is static and its types are plain; build it with the compiler of your program.
/// New members are added at the end of a structure and raise the minor version.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

/// Everything that this library declares.
namespace onnx_export {

/// The program cannot be started, or printed no document.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// How serious a Problem is.
enum class Severity {
  Error,    ///< no file is written
  Warning,  ///< the file is written; `--strict` refuses it
  Note      ///< information
};

/// Why a model is refused, or what to know about the file.
struct Problem {
  Severity severity = Severity::Error;  ///< how serious it is
  std::string code;                     ///< stable: "OE5101"; `onnx-export explain OE5101`
  std::string op;                       ///< "aten::foo"; empty: it concerns no operator
  std::string message;                  ///< what happened, as plain text
  std::string hint;                     ///< what to do, as plain text; may be empty
  std::string module;                   ///< path of the module in the model; empty: not known
  std::string file;                     ///< source file of the model; empty: not known
  std::string text;                     ///< the line of source; empty: not known
  int line = 0;                         ///< its number in `file`, from 1; 0: not known
};

/// An axis of an input or output: a size, or a name with bounds.
struct Axis {
  std::optional<int64_t> size;  ///< nothing: the axis is dynamic
  std::string name;             ///< of a dynamic axis; may be empty
  std::optional<int64_t> low;   ///< smallest size of a dynamic axis; nothing: not known
  std::optional<int64_t> high;  ///< largest size of a dynamic axis; nothing: not known
};

/// An input or an output of the ONNX file.
struct Port {
  std::string name;                       ///< in the ONNX file
  std::string kind;                       ///< "tensor", "sequence", "optional", ...
  std::string type;                       ///< of the elements: "float", "int64", ...
  std::optional<std::vector<Axis>> axes;  ///< nothing: the rank is not known
  std::string argument;                   ///< of an input: the argument of the model that it is
};

/// The comparison of the ONNX file with the model.
struct Verification {
  std::string verdict;                  ///< "agrees", "differs", "partly" or "not compared"
  std::string text;                     ///< a summary in one line
  int64_t runs = 0;                     ///< number of sets of inputs that were compared
  int64_t sizes = 0;                    ///< number of different input sizes among them
  int64_t elements = 0;                 ///< number of elements that were compared
  std::optional<double> largest_error;  ///< absolute; nothing: none was computed
  std::optional<double> latency_ms;     ///< of a call of ONNX Runtime, with `--latency`
};

/// The outcome of a call.
struct Result {
  int exit_code = 0;  ///< of the program; docs/cli.md lists them
  /// Whether the call did all that was asked.
  /// \return true for exit code 0
  bool ok() const { return exit_code == 0; }
  /// Whether the ONNX file was written: with exit code 0, or with 11 where not everything could be
  /// verified.
  /// \return true if `output` names a file
  bool written() const { return !output.empty(); }
  std::string output;                         ///< path of the ONNX file; empty: none was written
  std::string external_data_file;             ///< its weights in a file of their own; empty: none
  int64_t opset = 0;                          ///< ONNX opset of the file
  uint64_t nodes = 0;                         ///< number of nodes, those of subgraphs included
  uint64_t model_bytes = 0;                   ///< size of `output`
  uint64_t data_bytes = 0;                    ///< size of `external_data_file`
  std::map<std::string, uint64_t> operators;  ///< number of nodes of each ONNX operator
  std::vector<Port> inputs;                   ///< in the order of the file
  std::vector<Port> outputs;                  ///< in the order of the file
  std::vector<Problem> problems;              ///< errors, warnings and notes
  std::vector<std::string> assumptions;       ///< properties of the model that could not be proven
  std::optional<Verification> verification;   ///< nothing: no comparison was requested
  std::string json;                           ///< the whole document of the program
};

/// Options of a call. Those that have no member go into `more`.
struct ConvertOptions {
  std::vector<std::string> inputs;  ///< each as `--input` takes it: "x:batch=2x3x224x224"
  /// Each as `--dynamic-axes` takes it; "every": all axes at whose other sizes the model runs.
  std::vector<std::string> dynamic_axes;
  std::optional<int> opset;       ///< 7 to 28; nothing: 18
  std::string method;             ///< method to convert; empty: forward
  bool verify = false;            ///< compare the file in ONNX Runtime with LibTorch
  bool force = true;              ///< replace an existing file
  std::vector<std::string> more;  ///< any other options of the command line: "--to=fp16"
};

/// The program onnx-export. A Tool holds nothing but its path, and is cheap to copy.
class Tool {
 public:
  /// Chooses the program; nothing is started yet.
  /// \param program path of onnx-export; empty: ONNX_EXPORT_TOOL, else the one in PATH
  explicit Tool(std::string program = {});

  /// Converts a model. Writes `output`, and files beside it where they are needed: all, or none.
  /// \param model path of the TorchScript file
  /// \param output path of the ONNX file
  /// \param options as on the command line
  /// \return the outcome; why a model is refused is in its problems
  /// \throws Error if the program cannot be started, or gives no document
  Result convert(const std::string& model, const std::string& output,
                 const ConvertOptions& options = {}) const;
  /// Lists everything that blocks conversion; writes nothing.
  /// \param model path of the TorchScript file
  /// \param options as for convert()
  /// \return the outcome
  /// \throws Error as convert() does
  Result check(const std::string& model, const ConvertOptions& options = {}) const;
  /// Compares an ONNX file, made by any tool, with the model.
  /// \param model path of the TorchScript file
  /// \param onnx_file path of the ONNX file
  /// \param options as for convert()
  /// \return the outcome, with its verification
  /// \throws Error as convert() does
  Result verify(const std::string& model, const std::string& onnx_file,
                const ConvertOptions& options = {}) const;
  /// Lists what is in a file, without running it.
  /// \param file path of a TorchScript or ONNX file
  /// \return the JSON document of `onnx-export inspect`
  /// \throws Error as convert() does, and if the file cannot be read
  std::string inspect(const std::string& file) const;
  /// The version of the program.
  /// \return "0.1.0"
  /// \throws Error as convert() does
  std::string version() const;

  /// The path of the program.
  /// \return as given to the constructor, or as chosen there
  const std::string& program() const { return program_; }

 private:
  std::string program_;
};

}  // namespace onnx_export
