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
    "--max-time",      "--max-memory", "--max-size"};

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
  app.add_option("MODEL", r.model, "TorchScript file, made by torch.jit.save")->type_name("");
  if (task == Task::Convert)
    app.add_option("OUT.onnx", r.second, "the same as --output OUT.onnx")->type_name("")->group("");
  if (task == Task::Verify)
    app.add_option("FILE", r.o.onnx_file, "ONNX file, whoever made it")->type_name("");

  text(kBasic, "-o,--output", r.o.output,
       "the ONNX file (default: MODEL's name with .onnx, in the "
       "working folder; - is standard output)",
       "PATH");
  flag(kBasic, "--force", r.o.force, "overwrite an existing file");
  text(kBasic, "--opset", r.opset, "ONNX opset, 7 to 28 (default 18)", "N");
  list(
      kBasic, "--input", r.inputs,
      "an example input: [NAME:]SHAPE[@TYPE][=VALUE] or NAME=VALUE, "
      "as in x:batch=2x3x224x224@f32 (named axes are dynamic); repeat for each input; traced files "
      "know theirs",
      "SPEC");
  text(kBasic, "--inputs", r.inputs_file, "example inputs: what torch.save((x, y), FILE) wrote",
       "FILE");
  text(kModel, "--inputs-from", r.inputs_from,
       "example inputs in ONNX's layout: input_0.pb, ... in DIR, or in DIR/test_data_set_0, ...; "
       "axes that differ between the sets are dynamic, and --verify compares with output_0.pb, "
       "...; --input NAME:... replaces one, or gives one without a file",
       "DIR");
  list(kModel, "--alt-input", r.alt_inputs,
       "a second example of an input, written like --input; axes whose sizes differ are dynamic",
       "SPEC");
  list(kModel, "--constant", r.constants,
       "arguments, or parts of them (cfg.mask), that become constants of the model, with the "
       "example's values",
       "A,B");
  text(
      kModel, "--guess", r.guess,
      "auto: inputs that are not described are found from the program; sure: only ranks, sizes and "
      "types that the program forces; off: they are asked for (default auto, off with --strict)",
      "WHEN");
  app.add_flag("--dynamic-axes", r.dynamic_axes,
               "dynamic axes: x:0=batch,2=height y:0, or JSON, "
               "or @FILE; without a value every axis that runs at another size")
      ->group(kBasic)
      ->type_name("[SPEC]");
  flag(kBasic, "--dynamic-batch", r.o.input.dynamic_batch,
       "axis 0 of every input is dynamic, as 'batch'");
  optional(kBasic, "--verify{ort}", r.verify,
           "compare with LibTorch in ONNX Runtime, on several "
           "inputs and sizes");
  if (task == Task::Check)
    flag(kBasic, "--all-opsets", r.o.all_opsets,
         "a table of all opsets: whether it converts there, obstacles, nodes");
  flag(kBasic, "-v,--verbose", r.verbose, "print the ONNX graph");
  flag(kBasic, "-q,--quiet", r.quiet, "print nothing but errors");
  flag(kBasic, "-h,--help", r.help, "this text");
  flag(kBasic, "--help-all", r.help_all, "every option");
  flag(kBasic, "--version", r.version, "the version");

  list(kNames, "--input-names", r.input_names,
       "new names of the inputs, in order; more go on into "
       "the parameters",
       "A,B");
  list(kNames, "--output-names", r.output_names, "new names of the outputs, in order", "Y,Z");
  list(kNames, "--rename", r.renames, "rename one value; repeatable", "OLD=NEW");

  list(
      kModel, "--method", r.methods,
      "the method to convert (default forward); of several each has a file of its own, OUTPUT's name "
      "with the method before .onnx, and what is said of one begins with it: --input encode.x:1x16",
      "A,B");
  text(kModel, "--mode", r.mode,
       "control flow on data or dynamic sizes: auto and script keep it, "
       "trace takes the example's branch (default auto)",
       "MODE");
  text(kModel, "--unroll", r.unroll,
       "longest loop of a known number of iterations that is unrolled; a longer one that does not "
       "fold away stays a Loop (default 64)",
       "N");
  text(kModel, "--training", r.training, "eval, preserve or train (default eval)", "MODE");
  text(kModel, "--state", r.state,
       "attributes the method writes: discard; outputs: further outputs; io: inputs "
       "state_in.NAME and outputs state_out.NAME, the saved values in OUTPUT's name with "
       ".state.npz (default discard)",
       "WHAT");
  list(kModel, "--custom-schema", r.schemas,
       "an operator whose library is not here, with an expression that has its results' types and "
       "sizes: \"lib::op(Tensor x) -> Tensor = torch.empty_like(x)\", or @FILE of such lines",
       "SCHEMA");
  list(kModel, "--custom-op-lib", r.op_libs, "shared library that registers operators; repeatable",
       "LIB");
  text(kModel, "--seed", r.seed, "seed of random example inputs (default 0)", "N");
  text(kModel, "--device", r.device, "where the example runs: cpu, cuda or cuda:N (default cpu)",
       "DEVICE");
  text(kModel, "--threads", r.threads, "threads of LibTorch and ONNX Runtime (default: theirs)",
       "N");

  text(kGraph, "--operator-export-type", r.export_type,
       "onnx; onnx-aten: aten operators stay as ATen nodes; onnx-aten-fallback: those that cannot "
       "be written do; onnx-fallthrough: these stay as they are; raw: all do (default onnx)",
       "TYPE");
  list(kGraph, "--symbolics", r.symbolics,
       "rules that say how operators are written: as ONNX nodes, ONNX functions or TorchScript; "
       "repeatable",
       "FILE");
  list(kGraph, "--custom-opset", r.custom_opsets,
       "version of another domain's operators (default 1); repeatable", "DOMAIN=N");
  app.add_flag("--modules-as-functions", r.functions,
               "each call of a module is an ONNX function: all, or those of some classes; opset 15 "
               "and up")
      ->group(kGraph)
      ->type_name("[CLASS,...]");
  text(kGraph, "--target", r.target,
       "ort avoids types that ONNX Runtime's CPU kernels lack, onnx "
       "follows the specification alone (default ort)",
       "TARGET");
  text(kGraph, "--to", r.to,
       "fp16 or bf16: weights and arithmetic where it is safe, as in --to "
       "fp16:keep=Softmax,encoder.norm:io=half; keep: operators and modules that stay float32; io: "
       "float32 or half (default float32)",
       "TYPE");
  flag(kGraph, "--strict", r.o.strict, "assumptions and warnings are errors");
  flag(kGraph, "--no-constant-folding", r.no_folding, "leave constant subgraphs as they are");
  text(kGraph, "--fold-limit", r.fold_limit,
       "a result larger than its operands is folded up to this size (default 1MiB)", "SIZE");
  text(kGraph, "--optimize", r.optimize,
       "how far the graph is simplified: none; basic (the numbers stay the same to the bit); full "
       "(weights may change, numbers differ by rounding; the default)",
       "LEVEL");
  list(kGraph, "--disable-pass", r.disabled_passes,
       "passes of the optimizer to leave out; repeatable", "PASS,...");
  flag(kGraph, "--list-passes", r.list_passes,
       "the passes, in the order they run, and nothing else");
  text(kGraph, "--checker", r.checker, "the ONNX checker: full, basic or off (default full)",
       "HOW");

  flag(kFile, "--no-export-params", r.no_export_params,
       "parameters and buffers are inputs behind the model's own, in state_dict order, and nothing "
       "is folded into them");
  optional(
      kFile, "--keep-initializers-as-inputs{yes}", r.keep_initializers,
      "initializers are graph inputs too: =auto below IR version 4, where they have to be (the "
      "default), =yes, =no");
  text(kFile, "--ir-version", r.ir_version, "IR version (default: the oldest the opset allows)",
       "N");
  optional(kFile, "--external-data{always}", r.external,
           "weights in a file of their own: =auto "
           "(above 2 GiB, the default), =always, =never; =in-place: they stay in MODEL");
  text(kFile, "--external-data-file", r.external_file,
       "its name, beside the model (default: the "
       "model's name with .data)",
       "NAME");
  text(kFile, "--external-data-threshold", r.threshold,
       "smaller tensors stay in the model (default "
       "1KiB)",
       "SIZE");
  text(kFile, "--external-data-align", r.align, "alignment of each tensor (default 4KiB)", "SIZE");
  flag(kFile, "--keep-doc-strings", r.keep_doc, "source locations in the nodes");
  flag(kFile, "--strip-doc-strings", r.strip_doc, "none (default)");
  flag(kFile, "--no-metadata", r.no_metadata,
       "leave out metadata_props: source_sha256, method, dynamic_axes, options");
  flag(kFile, "--dry-run", r.o.dry_run, "do everything, write nothing");

  text(kVerify, "--verify-runs", r.verify_runs, "seeds for each size (default 3)", "N");
  list(kVerify, "--atol", r.atol, "absolute tolerance (default: by element type)", "[OUTPUT:]X");
  list(kVerify, "--rtol", r.rtol, "relative tolerance (default: by element type)", "[OUTPUT:]X");
  text(
      kVerify, "--save-test-data", r.test_data,
      "write the inputs and LibTorch's results as DIR/test_data_set_0/input_0.pb, output_0.pb, ..., "
      "further sets for other sizes",
      "DIR");
  if (task == Task::Verify)
    text(kBasic, "--bundle", r.o.bundle,
         "where they differ: write what replays it into DIR (inputs and LibTorch's results as "
         "DIR/test_data_set_0, the command, what was found)",
         "DIR");
  text(kVerify, "--provider", r.provider,
       "where ONNX Runtime runs what is verified: cpu or cuda (default cpu)", "WHERE");
  text(kVerify, "--ort-lib", r.ort_lib, "ONNX Runtime's library (default: searched for)", "PATH");

  add_limit_options(app, r.limits, kLimits);

  text(kReport, "--config", r.config,
       "arguments that come before all others, in a file: words as a shell reads them, # begins a "
       "comment; @FILE puts those of a file in its place",
       "FILE");
  app.add_flag(
         "--print-ir", r.print_ir,
         "the program after a stage: =after:capture, =before:lower, "
         "... (stages capture lower optimize legalize precision name); =after:PASS each time a "
         "pass of the optimizer changes it")
      ->group(kReport);
  text(
      kReport, "--stop-after", r.stop_after,
      "do no more than the stages up to this one, and write nothing: load, capture, lower, optimize, "
      "legalize or check",
      "STAGE");
  flag(kReport, "--time", r.o.time,
       "seconds spent in each stage, and the most memory used until its end");
  flag(kReport, "--json", r.o.json, "the result as one JSON document on standard output");
  text(
      kReport, "--diag-format", r.diag_format,
      "text; json: each problem as a line of JSON, and nothing else, on standard error; sarif: also "
      "as a SARIF 2.1.0 document on standard output (default text)",
      "FORMAT");
  text(kReport, "--root", r.o.root,
       "paths in SARIF are relative to this folder (default: as they were given)", "DIR");
  text(kReport, "--progress", r.progress,
       "the running stage on standard error: auto (on a terminal, after a second), always or never "
       "(default auto)",
       "WHEN");
  list(kReport, "--report", r.o.reports,
       "write a report beside what is printed; the ending is the format: .html (a page with the "
       "graph), .md or .json; repeatable",
       "FILE");
  text(
      kReport, "--log-file", r.o.log_file,
      "append what happened, with times, to a file: command line, versions, stages, problems, result",
      "FILE");
  text(kReport, "--color", r.color, "auto, always or never (default auto)", "WHEN");
  flag(kTorch, "--dynamo", r.dynamo, "the file is no Python that would be traced");
  flag(kTorch, "--fallback", r.fallback, "there is one way to convert");
  flag(kTorch, "--autograd-inlining", r.autograd_inlining,
       "autograd's functions are inlined in the file already");
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
        "Without --input the inputs are those of the file, of MODEL's trace, or found in its "
        "program. Exit codes:\n0 they agree, 6 they differ, 11 not everything could be compared, "
        "others as of convert." +
        std::string(all ? "" : " --help-all lists every option."));
    return help_text(app);
  }
  if (task == Task::Check) {
    app.footer(
        "Takes every option of convert; nothing is written. Exit codes: 0 it converts (with "
        "--all-opsets: at\nany), 5 it does not, others as of convert." +
        std::string(all ? "" : " --help-all lists every option."));
    return help_text(app);
  }
  app.footer(verb_lines() + (all ? ""
                                 : "\n--help-all lists every option, `onnx-export man` is the "
                                   "manual. Exit codes: 0 converted, 2 usage,\n3 MODEL is "
                                   "unreadable or no TorchScript, 5 unsupported operators, 6 "
                                   "verification failed."));
  return help_text(app);
}

}  // namespace oe::app
