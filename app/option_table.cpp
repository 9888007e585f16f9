// Every option of `convert`, `check` and `verify` as CLI11 sees it: name, group, help text, where
// its text goes.
#include "app/option_table.h"

#include <algorithm>

#include "app/arguments.h"
#include "app/verbs/verb.h"

namespace oe::app {
namespace {

// Groups of the help text; the short help shows the first.
constexpr const char* kBasic = "Options";
constexpr const char* kNames = "Names";
constexpr const char* kModel = "What is converted";
constexpr const char* kGraph = "The graph";
constexpr const char* kFile = "The file";
constexpr const char* kVerify = "Verification";
constexpr const char* kLimits = "Safety and limits";
constexpr const char* kReport = "What is printed";
constexpr const char* kTorch = "Of torch.onnx.export, without effect on a serialized file";

// What verify takes of the options: how the module runs, on what, and what is told.
constexpr const char* kOfVerify[] = {
    "MODEL",           "FILE",         "--input",          "--inputs",        "--inputs-from",
    "--alt-input",     "--guess",      "--dynamic-axes",   "--dynamic-batch", "--input-names",
    "--method",        "--provider",   "--config",         "--training",      "--custom-schema",
    "--custom-op-lib", "--seed",       "--device",         "--threads",       "--verify-runs",
    "--atol",          "--rtol",       "--save-test-data", "--bundle",        "--force",
    "--ort-lib",       "--verbose",    "--quiet",          "--help",          "--help-all",
    "--version",       "--time",       "--json",           "--diag-format",   "--root",
    "--progress",      "--log-file",   "--color",          "--sandbox",       "--torch",
    "--max-time",      "--max-memory", "--max-size",       "--latency",       "--report"};

void keep_those_of_verify(CLI::App& app) {
  for (CLI::Option* o : app.get_options())
    if (std::ranges::none_of(kOfVerify, [&](const char* name) { return o->check_name(name); }))
      app.remove_option(o);
}

}  // namespace

void add_options(CLI::App& app, Raw& r, Task task) {
  const auto text = [&](const char* group, const char* name, std::string& to, const char* what,
                        const char* value) {
    app.add_option(name, to, what)->type_name(value)->group(group);
  };
  const auto list = [&](const char* group, const char* name, Strings& to, const char* what,
                        const char* value) {
    // One value an occurrence, taken as it is: [1,3] is a shape, not CLI11's list syntax.
    app.add_option(name, to, what)->type_name(value)->group(group)->allow_extra_args(false);
  };
  const auto flag = [&](const char* group, const char* name, bool& to, const char* what) {
    app.add_flag(name, to, what)->group(group);
  };
  // Their value only ever follows '='.
  const auto optional = [&](const char* group, const char* name, std::string& to,
                            const char* what) { app.add_flag(name, to, what)->group(group); };
  app.add_option("MODEL", r.model, "TorchScript file, written by torch.jit.save")->type_name("");
  if (task == Task::Convert)
    app.add_option("OUT.onnx", r.second, "Same as --output OUT.onnx")->type_name("");
  if (task == Task::Verify)
    app.add_option("FILE", r.o.onnx_file, "ONNX file, made by any tool")->type_name("");

  text(kBasic, "-o,--output", r.o.output,
       "Write the ONNX file here; DIR/ keeps the default name, MODEL's with .onnx; - is "
       "standard output",
       "PATH");
  flag(kBasic, "--force", r.o.force, "Overwrite an existing file");
  text(kBasic, "--opset", r.opset, "ONNX opset, 7 to 28 (default 18)", "N");
  list(kBasic, "--input", r.inputs,
       "Example input [NAME:]SHAPE[@TYPE][=VALUE]: x:batch=2x3x224x224 (a named axis is dynamic); "
       "repeat for each input",
       "SPEC");
  text(kBasic, "--inputs", r.inputs_file, "Example inputs, written by torch.save((x, y), FILE)",
       "FILE");
  text(kModel, "--inputs-from", r.inputs_from,
       "Example inputs in ONNX's layout: input_0.pb, ... in DIR or in "
       "DIR/test_data_set_0, ...; axes that differ between the sets are dynamic; --verify "
       "also compares with output_0.pb, ...; --input NAME:... replaces one input or adds "
       "one without a file",
       "DIR");
  list(kModel, "--alt-input", r.alt_inputs,
       "Second example of an input, in the form of --input; axes whose sizes differ are "
       "dynamic",
       "SPEC");
  list(kModel, "--constant", r.constants,
       "Make arguments, or elements of them (cfg.mask), constants with the example's "
       "values",
       "A,B");
  text(kModel, "--guess", r.guess,
       "auto: infer inputs without --input from the program; sure: accept only ranks, "
       "sizes and types that the program forces; off: require every input (default auto, "
       "off with --strict)",
       "WHEN");
  app.add_flag("--dynamic-axes", r.dynamic_axes,
               "Dynamic axes: x:0=batch,2=height y:0, JSON or @FILE; without a value, every axis "
               "that runs at another size")
      ->group(kBasic)
      ->type_name("[SPEC]");
  flag(kBasic, "--dynamic-batch", r.o.input.dynamic_batch,
       "Make axis 0 of every input dynamic, as 'batch'");
  optional(kBasic, "--verify{ort}", r.verify,
           "Compare ONNX Runtime with LibTorch on several inputs and sizes");
  if (task == Task::Check)
    flag(kBasic, "--all-opsets", r.o.all_opsets,
         "Print a table of all opsets: result, obstacles, nodes");
  flag(kBasic, "-v,--verbose", r.verbose, "Print the ONNX graph");
  flag(kBasic, "-q,--quiet", r.quiet, "Print errors only");
  flag(kBasic, "-h,--help", r.help, "Print this text");
  flag(kBasic, "--help-all", r.help_all, "Print every option");
  flag(kBasic, "--version", r.version, "Print the version");

  list(kNames, "--input-names", r.input_names,
       "New names of the inputs, in order; extra names apply to the parameters, in "
       "state_dict order",
       "A,B");
  list(kNames, "--output-names", r.output_names, "New names of the outputs, in order", "Y,Z");
  list(kNames, "--rename", r.renames, "Rename one value; repeatable", "OLD=NEW");

  list(kModel, "--method", r.methods,
       "Convert this method (default forward); each of several methods gets its own file, "
       "OUTPUT's name with the method before .onnx; prefix its options with the method "
       "name: --input encode.x:1x16",
       "A,B");
  text(kModel, "--mode", r.mode,
       "Control flow on data or dynamic sizes: auto and script keep it, trace follows the "
       "example (default auto)",
       "MODE");
  text(kModel, "--unroll", r.unroll,
       "Unroll loops of at most N iterations, if the number is known; longer ones that do "
       "not fold stay a Loop (default 64)",
       "N");
  text(kModel, "--training", r.training,
       "Mode of the modules: eval, preserve or train (default eval)", "MODE");
  text(kModel, "--state", r.state,
       "Attributes that the method writes: discard them; outputs: return them as extra "
       "outputs; io: inputs state_in.NAME and outputs state_out.NAME, with the saved "
       "values in OUTPUT's name with .state.npz (default discard)",
       "WHAT");
  list(kModel, "--custom-schema", r.schemas,
       "Declare an operator whose library is missing, with an expression of its results' "
       "types and sizes: \"lib::op(Tensor x) -> Tensor = torch.empty_like(x)\"; @FILE "
       "reads such lines",
       "SCHEMA");
  list(kModel, "--custom-op-lib", r.op_libs,
       "Load a shared library that registers operators; repeatable", "LIB");
  text(kModel, "--seed", r.seed, "Seed of random example inputs (default 0)", "N");
  text(kModel, "--device", r.device, "Run the example on cpu, cuda or cuda:N (default cpu)",
       "DEVICE");
  text(kModel, "--threads", r.threads,
       "Threads of LibTorch and ONNX Runtime (default: their own choice)", "N");

  text(kGraph, "--operator-export-type", r.export_type,
       "onnx; onnx-aten: write every aten operator as an ATen node; onnx-aten-fallback: "
       "only those without an ONNX form; onnx-fallthrough: keep those under their own "
       "names; raw: keep all (default onnx)",
       "TYPE");
  list(kGraph, "--symbolics", r.symbolics,
       "Read rules that lower operators to ONNX nodes, ONNX functions or TorchScript; "
       "repeatable",
       "FILE");
  list(kGraph, "--custom-opset", r.custom_opsets,
       "Version of another operator domain (default 1); repeatable", "DOMAIN=N");
  app.add_flag("--modules-as-functions", r.functions,
               "Write calls of modules as ONNX functions: all, or those of some classes; opset 15 "
               "or later")
      ->group(kGraph)
      ->type_name("[CLASS,...]");
  text(kGraph, "--target", r.target,
       "ort: avoid types that ONNX Runtime's CPU kernels lack; onnx: follow the "
       "specification alone (default ort)",
       "TARGET");
  text(kGraph, "--to", r.to,
       "Convert weights and arithmetic to fp16 or bf16 where it is safe, as in --to "
       "fp16:keep=Softmax,encoder.norm:io=half; keep: operators and modules that stay "
       "float32; io: inputs and outputs, float32 or half (default float32)",
       "TYPE");
  flag(kGraph, "--strict", r.o.strict, "Treat assumptions and warnings as errors");
  flag(kGraph, "--no-constant-folding", r.no_folding, "Do not fold constant subgraphs");
  text(kGraph, "--fold-limit", r.fold_limit,
       "Fold a result that is larger than its operands up to this size (default 1MiB)", "SIZE");
  text(kGraph, "--optimize", r.optimize,
       "Simplify the graph: none; basic (results stay equal to the bit); full (weights "
       "may change, results differ by rounding; the default)",
       "LEVEL");
  list(kGraph, "--disable-pass", r.disabled_passes, "Skip passes of the optimizer; repeatable",
       "PASS,...");
  flag(kGraph, "--list-passes", r.list_passes, "List the passes in the order they run, and exit");
  text(kGraph, "--checker", r.checker, "ONNX checker: full, basic or off (default full)", "HOW");

  flag(kFile, "--no-export-params", r.no_export_params,
       "Make parameters and buffers inputs after the model's own, in state_dict order, "
       "and do not fold them");
  optional(kFile, "--keep-initializers-as-inputs{yes}", r.keep_initializers,
           "Also list initializers as graph inputs: =auto (below IR version 4, which requires "
           "it; the default), =yes, =no");
  text(kFile, "--ir-version", r.ir_version,
       "IR version (default: the oldest that the opset allows)", "N");
  optional(kFile, "--external-data{always}", r.external,
           "Write weights to a separate file: =auto (above 2 GiB, the default), =always, "
           "=never; =in-place: refer to the weights in MODEL");
  text(kFile, "--external-data-file", r.external_file,
       "Name of that file, beside the model (default: the model's name with .data)", "NAME");
  text(kFile, "--external-data-threshold", r.threshold,
       "Keep smaller tensors in the model (default 1KiB)", "SIZE");
  text(kFile, "--external-data-align", r.align,
       "Alignment of each tensor in that file (default 4KiB)", "SIZE");
  flag(kFile, "--keep-doc-strings", r.keep_doc, "Write source locations into the nodes");
  flag(kFile, "--strip-doc-strings", r.strip_doc, "Omit source locations (default)");
  flag(kFile, "--no-metadata", r.no_metadata,
       "Omit metadata_props: source_sha256, method, dynamic_axes, options");
  flag(kFile, "--dry-run", r.o.dry_run, "Do everything, but write no file");

  text(kVerify, "--verify-runs", r.verify_runs, "Seeds for each size (default 3)", "N");
  flag(kVerify, "--latency", r.o.verification.latency,
       "Time a call of ONNX Runtime, the median of up to 51 at the example's sizes");
  list(kVerify, "--atol", r.atol, "Absolute tolerance (default: by element type)", "[OUTPUT:]X");
  list(kVerify, "--rtol", r.rtol, "Relative tolerance (default: by element type)", "[OUTPUT:]X");
  text(kVerify, "--save-test-data", r.test_data,
       "Write inputs and LibTorch's results as DIR/test_data_set_0/input_0.pb, "
       "output_0.pb, ..., with more sets for other sizes",
       "DIR");
  if (task == Task::Verify)
    text(kBasic, "--bundle", r.o.bundle,
         "On a difference, write a reproduction to DIR: inputs and LibTorch's results as "
         "DIR/test_data_set_0, the command, and the findings",
         "DIR");
  text(kVerify, "--provider", r.provider, "Run ONNX Runtime on cpu or cuda (default cpu)", "WHERE");
  text(kVerify, "--ort-lib", r.ort_lib, "Path of ONNX Runtime's library (default: search for it)",
       "PATH");

  add_limit_options(app, r.limits, kLimits);

  text(kReport, "--config", r.config,
       "Read arguments from a file, before all others: words as in a shell, # starts a "
       "comment; a plain @FILE inserts them in its place",
       "FILE");
  app.add_flag("--print-ir", r.print_ir,
               "Print the program after or before a stage: =after:capture, =before:lower, ... "
               "(stages capture lower optimize legalize precision name); =after:PASS prints it "
               "each time that pass of the optimizer changes it")
      ->group(kReport);
  text(kReport, "--stop-after", r.stop_after,
       "Stop after a stage and write no file: load, capture, lower, optimize, legalize or "
       "check",
       "STAGE");
  flag(kReport, "--time", r.o.time,
       "Print the seconds of each stage and the peak memory up to its end");
  flag(kReport, "--json", r.o.json, "Print the result as one JSON document on standard output");
  text(kReport, "--diag-format", r.diag_format,
       "text; json: print only problems on standard error, one JSON line each; sarif: "
       "also print a SARIF 2.1.0 document on standard output (default text)",
       "FORMAT");
  text(kReport, "--root", r.o.root,
       "Make paths in SARIF relative to this folder (default: as given)", "DIR");
  text(kReport, "--progress", r.progress,
       "Show the running stage on standard error: auto (on a terminal, after a second), "
       "always or never (default auto)",
       "WHEN");
  list(kReport, "--report", r.o.reports,
       "Also write a report; the extension selects the format: .html (a page with the "
       "graph), .md or .json; repeatable",
       "FILE");
  text(kReport, "--log-file", r.o.log_file,
       "Append a log with times to a file: command line, versions, stages, problems, "
       "result",
       "FILE");
  text(kReport, "--color", r.color, "Color messages: auto, always or never (default auto)", "WHEN");
  flag(kTorch, "--dynamo", r.dynamo, "A file is never traced from Python");
  flag(kTorch, "--fallback", r.fallback, "Only one way to convert exists");
  flag(kTorch, "--autograd-inlining", r.autograd_inlining,
       "The file already has autograd functions inlined");
  if (task == Task::Verify) keep_those_of_verify(app);
}

namespace {

std::string verb_lines() {
  std::string text = "Verbs, as the first word (onnx-export VERB --help):\n";
  for (const VerbEntry& v : verbs())
    text += "  " + std::string(v.name) + std::string(12 - v.name.size(), ' ') +
            std::string(v.what) + "\n";
  return text;
}

}  // namespace

std::string help(CLI::App& app, bool all, Task task) {
  for (CLI::Option* o : app.get_options())
    if (!all && o->get_group() != kBasic && o->nonpositional()) o->group("");
  if (task == Task::Verify) {
    app.footer(
        "Without --input, the inputs are those of FILE or of MODEL's trace, or are inferred from "
        "its program.\nExit codes: 0 they agree, 6 they differ, 11 not everything could be "
        "compared, others as of\nconvert." +
        std::string(all ? "" : " --help-all lists every option."));
    return help_text(app);
  }
  if (task == Task::Check) {
    app.footer(
        "Takes every option of convert and writes nothing. Exit codes: 0 it converts (with "
        "--all-opsets: at\nany), 5 it does not, others as of convert." +
        std::string(all ? "" : " --help-all lists every option."));
    return help_text(app);
  }
  app.footer(verb_lines() + (all ? ""
                                 : "\n--help-all lists every option, `onnx-export man` is the "
                                   "manual. Exit codes: 0 converted, 2 usage,\n3 MODEL is "
                                   "unreadable or not TorchScript, 5 unsupported operators, 6 "
                                   "verification failed."));
  return help_text(app);
}

}  // namespace oe::app
