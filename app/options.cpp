// The command lines of `onnx-export convert`, `check` and `verify`, shared by the supervisor and
// the worker.
#include "app/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <set>

#include "app/arguments.h"
#include "app/choices.h"
#include "app/familiar.h"
#include "app/option_table.h"
#include "app/version.h"
#include "lib/options/methods.h"
#include "lib/options/option_text.h"
#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

constexpr const char* kOneModel =
    "specify one MODEL, or use onnx-export batch for several; quote a value that contains blanks";

bool looks_like_axes(const std::string& s) {
  return s.starts_with('{') || s.starts_with('@') ||
         (s.find(':') != std::string::npos && !s.starts_with('-') && !s.ends_with(".pt"));
}

Strings names(const char* option, const Strings& texts) {
  Strings out;
  for (const std::string& text : texts)
    for (const std::string& name : split(text, ',')) {
      if (name.empty()) usage(std::string(option) + ": a name is empty in '" + text + "'");
      out.push_back(name);
    }
  return out;
}

void tolerances(const char* option, const Strings& texts,
                std::vector<std::pair<std::string, double>>& to) {
  for (const std::string& text : texts) {
    const size_t colon = text.rfind(':');
    const std::string value = colon == std::string::npos ? text : text.substr(colon + 1);
    char* end = nullptr;
    const double v = std::strtod(value.c_str(), &end);
    if (value.empty() || *end != '\0' || !(v >= 0))
      usage(std::string(option) + ": '" + value + "' is not a tolerance");
    to.emplace_back(colon == std::string::npos ? "" : text.substr(0, colon), v);
  }
}

void print_points(const Strings& texts, Strings& to) {
  for (const std::string& text : texts) {
    const size_t colon = text.find(':');
    const std::string when = colon == std::string::npos ? "after" : text.substr(0, colon);
    const std::string stage = colon == std::string::npos ? text : text.substr(colon + 1);
    choose("--print-ir", when, {"after", "before"});
    if (when == "before" && stage == "capture")
      usage("--print-ir: there is nothing to print before capture");
    Strings named;
    for (const std::string& point : choices_of("--print-ir"))
      if (point.starts_with(when + ":")) named.push_back(point.substr(when.size() + 1));
    choose("--print-ir", stage, named);
    to.push_back(when + ":" + stage);
  }
}

void custom_opsets(const Strings& texts, std::map<std::string, int64_t>& to) {
  for (const std::string& text : texts) {
    const size_t equals = text.rfind('=');
    const std::string domain = text.substr(0, equals);
    if (equals == std::string::npos || equals + 1 == text.size() || domain.empty())
      usage("--custom-opset: '" + text + "' is not DOMAIN=N");
    if (domain == "ai.onnx") usage("--custom-opset: ai.onnx is ONNX's own domain", "use --opset N");
    int64_t version = 0;
    number("--custom-opset", text.substr(equals + 1), version, int64_t{1}, int64_t{INT32_MAX});
    if (!to.emplace(domain, version).second)
      usage("--custom-opset: domain '" + domain + "' has two versions");
  }
}

// The ONNX file without an option: onnx-export model.pt model.onnx.
void second_argument(const Raw& r, Options& o) {
  if (r.second.empty()) return;
  if (!r.second.ends_with(".onnx")) usage("unexpected argument '" + r.second + "'", kOneModel);
  if (!o.output.empty())
    usage("the output has two names, '" + r.second + "' and '" + o.output + "'");
  o.output = r.second;
}

void file_options(const Raw& r, Options& o) {
  choose("--external-data", r.external, o.write.external);
  o.write.external_file = r.external_file;
  if (r.external_file.find('/') != std::string::npos || r.external_file == "." ||
      r.external_file == "..")
    usage("--external-data-file: '" + r.external_file + "' is not a plain file name",
          "the file is written beside the model");
  if (!r.threshold.empty())
    o.write.threshold = parse_size(r.threshold, "--external-data-threshold");
  if (!r.align.empty()) o.write.align = parse_size(r.align, "--external-data-align");
  if (o.write.align < 1) usage("--external-data-align: 0 is not an alignment");
  if (r.keep_doc && r.strip_doc)
    usage("--keep-doc-strings and --strip-doc-strings contradict each other");
  o.write.doc_strings = r.keep_doc;
  o.provenance.metadata = !r.no_metadata;
  const bool in_place = o.write.external == onnx::WriteOptions::External::InPlace;
  if (in_place && !r.external_file.empty())
    usage(
        "--external-data=in-place: the weights stay in MODEL; --external-data-file names another "
        "file");
  if (in_place) {
    if (o.output.empty())
      o.output = std::filesystem::path(o.load.model).replace_extension(".onnx").string();
    o.write.external_file = std::filesystem::path(o.load.model).filename().string();
  }
  if (o.output.empty() || o.output.ends_with('/'))
    o.output += std::filesystem::path(o.load.model).filename().replace_extension(".onnx").string();
  if (o.output == "-" && (in_place || o.write.external == onnx::WriteOptions::External::Always))
    usage("-o -: a file of external data cannot go to standard output");
  if (o.write.external_file.empty())
    o.write.external_file = std::filesystem::path(o.output).filename().string() + ".data";
  if (o.write.external_file == std::filesystem::path(o.output).filename())
    usage("--external-data-file: has the model's own name");
  std::filesystem::path state = std::filesystem::path(o.output).filename();
  if (state.extension() == ".onnx") state.replace_extension();
  o.state_file = state.string() + ".state.npz";
  if (o.write.external_file == o.state_file)
    usage("--external-data-file: has the name of the saved state");
}

// What `check` cannot do: it writes no file, and compares none.
void refuse_results(const Options& o) {
  if (o.verify)
    usage("check: --verify compares a written file, but check writes none",
          "use onnx-export MODEL --verify --dry-run, which compares and keeps no file");
  if (!o.test_data.empty()) usage("check: --save-test-data writes files, but check writes none");
  if (!o.stop_after.empty()) usage("check: --stop-after applies only to a conversion");
  if (o.output == "-") usage("check: -o - writes a model, but check writes none");
}

void stop_after(const Raw& r, Options& o) {
  choose("--stop-after", r.stop_after);
  if (o.verify || !o.test_data.empty())
    usage("--stop-after: --verify and --save-test-data need the written model");
  o.stop_after = r.stop_after;
  o.dry_run = true;
}

void without_effect(const Raw& r, Options& o) {
  for (const auto& [given, name] :
       {std::pair{r.dynamo, "--dynamo"}, std::pair{r.fallback, "--fallback"},
        std::pair{r.autograd_inlining, "--autograd-inlining"}})
    if (given) o.without_effect.push_back(name);
}

void verify_options(Options& o) {
  if (o.onnx_file.empty())
    usage("verify: FILE is missing: the ONNX file to compare with " + o.load.model,
          "onnx-export verify --help shows the usage");
  if (o.load.methods.size() > 1)
    usage("verify: --method names several methods, but only one can be compared at a time");
  o.verify = true;
  o.output = o.onnx_file;
}

void report_options(const Raw& r, Options& o) {
  if (r.verbose && r.quiet) usage("-v and -q contradict each other");
  o.verbosity = r.verbose ? 1 : r.quiet ? -1 : 0;
  o.load.show_warnings = r.verbose;
  print_points(r.print_ir, o.print_ir);
  require_format(o.reports, {".html", ".md", ".json"});
  choose("--diag-format", r.diag_format, o.diagnostic_format);
  choose("--progress", r.progress, o.progress);
  if (o.diagnostic_format != DiagnosticFormat::Sarif) return;
  if (o.json) usage("--diag-format sarif and --json both write to standard output");
  if (o.output == "-") usage("--diag-format sarif and -o - both write to standard output");
}

void module_functions(const Raw& r, Options& o) {
  if (r.functions.empty()) return;
  if (o.opset < 15 || o.ir_version.value_or(8) < 8)
    usage("--modules-as-functions: functions need opset 15 or newer, and IR version 8 or newer",
          "remove --opset and --ir-version, or choose such versions");
  o.modules_as_functions = true;
  if (r.functions != "all" && r.functions != "true")
    o.function_classes = names("--modules-as-functions", {r.functions});
}

// --to TYPE[:keep=A,B][:io=WHAT]
void precision_option(const std::string& text, Options& o) {
  const Strings parts = split(text, ':');
  precision::Request& to = o.to.emplace();
  const bool bf16 = choose("--to", parts[0]) == 1;
  to.half = bf16 ? DType::BFloat16 : DType::Float16;
  for (size_t i = 1; i < parts.size(); ++i) {
    const size_t equals = parts[i].find('=');
    const std::string key = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    if (value.empty())
      usage("--to: '" + parts[i] + "' is neither keep=A,B nor io=float32 or io=half");
    if (choose("--to", key, {"keep", "io"}) == 0)
      std::ranges::copy(names("--to", {value}), std::back_inserter(to.keep));
    else
      to.half_io = choose("--to", value, {"float32", "half"}) == 1;
  }
  if (bf16 && o.opset < 13)
    usage("--to bf16: ONNX has arithmetic in bfloat16 from opset 13 on", "use --opset 13 or newer");
  if (o.write.external == onnx::WriteOptions::External::InPlace)
    usage("--to rounds the weights: they cannot stay in MODEL (--external-data=in-place)");
}

// cpu, cuda or cuda:N.
std::string device(const std::string& text) {
  const std::string_view digits = text.starts_with("cuda:") ? std::string_view(text).substr(5) : "";
  if (digits.empty() || digits.size() > 2 || !std::ranges::all_of(digits, ::isdigit))
    return choose("--device", text) == 0 ? "cpu" : "cuda:0";
  return "cuda:" + std::to_string(std::atoi(digits.data()));
}

// Gives the texts their meaning.
Options interpret(Raw& r) {
  Options o = r.o;
  if (r.model.empty()) usage("no MODEL given", "onnx-export --help shows the usage");
  o.load.model = r.model;
  second_argument(r, o);
  if (r.opset.find(',') != std::string::npos)
    usage("--opset: specify one opset", "onnx-export check " + shell_word(r.model) +
                                            " --all-opsets shows the result for each opset");
  number("--opset", r.opset, o.opset, kOldestOpset, kNewestOpset);
  if (!r.ir_version.empty()) {
    o.ir_version = 0;
    number("--ir-version", r.ir_version, *o.ir_version, int64_t{3}, int64_t{14});
  }
  for (const std::string& s : r.inputs) o.input.specs.push_back(parse_input_spec(s));
  o.input.file = r.inputs_file;
  o.input.folder = r.inputs_from;
  if (!o.input.folder.empty() && !o.input.file.empty())
    usage("--inputs-from and --inputs contradict each other");
  for (const InputSpec& s : o.input.specs)
    if (!o.input.folder.empty() && s.name.empty())
      usage(
          "--inputs-from specifies the inputs in order: --input must name the input that it "
          "replaces",
          "write --input NAME:SHAPE; it replaces an input, or adds one without a file");
  std::vector<InputSpec> further;
  for (const std::string& s : r.alt_inputs) further.push_back(parse_input_spec(s, "--alt-input"));
  if (!further.empty()) o.input.alternatives.push_back(std::move(further));
  o.input.constants = names("--constant", r.constants);
  const size_t guess = choose("--guess", r.guess);
  o.input.guess = guess != 1 && !(o.strict && guess == 0);
  o.input.guess_sure = guess == 2;
  number("--seed", r.seed, o.input.seed, uint64_t{0}, uint64_t{INT64_MAX});
  for (const std::string& s : r.dynamic_axes) {
    if (s == "every" || s == "true")
      o.input.dynamic_axes.every_axis = true;
    else
      parse_dynamic_axes(s, o.input.dynamic_axes);
  }
  o.input.names = names("--input-names", r.input_names);
  o.output_names = names("--output-names", r.output_names);
  for (const std::string& s : r.renames) {
    const size_t equals = s.find('=');
    if (equals == std::string::npos || equals == 0 || equals + 1 == s.size())
      usage("--rename: '" + s + "' is not OLD=NEW");
    o.renames.emplace_back(s.substr(0, equals), s.substr(equals + 1));
  }
  file_options(r, o);
  o.export_params = !r.no_export_params;
  choose("--keep-initializers-as-inputs", r.keep_initializers, o.keep_initializers);
  if (r.no_export_params && !r.state.empty() && r.state != "discard")
    usage("--no-export-params and --state=" + r.state + " contradict each other");
  if (r.no_export_params && !r.keep_initializers.empty())
    usage("--no-export-params leaves no parameters for --keep-initializers-as-inputs");
  choose("--operator-export-type", r.export_type, o.export_type);
  custom_opsets(r.custom_opsets, o.custom_opsets);
  o.symbolics = r.symbolics;
  o.custom_schemas = r.schemas;
  module_functions(r, o);
  if (!r.optimize.empty()) choose("--optimize", r.optimize, o.optimize.level);
  o.optimize.disabled = names("--disable-pass", r.disabled_passes);
  for (const std::string& pass : o.optimize.disabled) choose("--disable-pass", pass);
  o.optimize.constant_folding = !r.no_folding && o.optimize.level != optimize::Level::None;
  if (!r.fold_limit.empty()) o.optimize.fold_limit = parse_size(r.fold_limit, "--fold-limit");
  o.capture.fold_limit.reset();
  if (o.optimize.constant_folding) o.capture.fold_limit = o.optimize.fold_limit;
  o.ort_target = choose("--target", r.target) == 0;
  if (!r.to.empty()) precision_option(r.to, o);
  number("--unroll", r.unroll, o.capture.unroll, int64_t{0}, int64_t{1} << 40);
  choose("--mode", r.mode, o.capture.mode);
  choose("--training", r.training, o.load.training);
  choose("--state", r.state, o.capture.state);
  if (const Strings methods = names("--method", r.methods); methods.size() > 1)
    o.load.methods = methods;
  else if (!methods.empty())
    o.load.method = methods[0];
  o.load.custom_op_libs = r.op_libs;
  o.load.device = device(r.device);
  number("--threads", r.threads, o.load.threads, 1, 4096);
  choose("--checker", r.checker, o.checker);
  o.verify = !r.verify.empty() && choose("--verify", r.verify) == 0;
  number("--verify-runs", r.verify_runs, o.verification.runs, 1, 1000000);
  tolerances("--atol", r.atol, o.verification.atol);
  tolerances("--rtol", r.rtol, o.verification.rtol);
  o.verification.ort_lib = r.ort_lib;
  choose("--provider", r.provider, o.verification.provider);
  if (o.verification.latency && !o.verify && o.task != Task::Verify)
    usage("--latency needs --verify, which runs the file", "add --verify");
  if (!r.provider.empty() && !o.verify) usage("--provider needs --verify, which runs the file");
  o.test_data = r.test_data;
  report_options(r, o);
  if (!r.stop_after.empty()) stop_after(r, o);
  without_effect(r, o);
  if (o.task == Task::Verify) verify_options(o);
  if (o.task == Task::Check) refuse_results(o);
  return o;
}

// The file of "@FILE"; a value of an input may also be one array of it: "@FILE.npz:key".
void add_file(const std::string& text, Strings& to) {
  if (!text.starts_with('@')) return;
  const std::string path = text.substr(1);
  to.push_back(path);
  if (const size_t key = path.rfind(".npz:"); key != std::string::npos)
    to.push_back(path.substr(0, key + std::string_view(".npz").size()));
}

// Every file that the options name for reading.
Strings files_of(const Options& o, const Raw& r) {
  Strings files = {o.load.model};
  for (const std::string& f : {o.onnx_file, o.input.file})
    if (!f.empty()) files.push_back(f);
  for (const InputSpec& s : o.input.specs) add_file(s.value, files);
  for (const auto& further : o.input.alternatives)
    for (const InputSpec& s : further) add_file(s.value, files);
  for (const std::string& s : r.dynamic_axes) add_file(std::string(strip(s)), files);
  for (const std::string& s : o.custom_schemas) add_file(s, files);
  std::ranges::copy(o.symbolics, std::back_inserter(files));
  return files;
}

// What the first word makes of the command line.
struct VerbOfTask {
  std::string_view word;
  Task task;
  const char* what;
};
constexpr VerbOfTask kVerbs[] = {
    {"check", Task::Check,
     "Lists everything that blocks the conversion of a TorchScript file. Writes no file."},
    {"verify", Task::Verify,
     "Compares an ONNX file of any tool with its TorchScript file, on several inputs and sizes."},
    {"", Task::Convert,
     "Converts a TorchScript file (.pt) into an ONNX file that computes the same numbers."}};

const VerbOfTask& verb_of(const Strings& arguments) {
  const std::string_view first = arguments.empty() ? std::string_view() : arguments[0];
  return *std::ranges::find_if(
      kVerbs, [&](const VerbOfTask& v) { return v.word.empty() || v.word == first; });
}

// The options about the result, about printing, and those that only end a run.
const std::set<std::string>& without_effect_on_result() {
  static const std::set<std::string> names = {
      "--output",      "--force",    "--verbose",  "--quiet",  "--json",
      "--diag-format", "--progress", "--log-file", "--report", "--color",
      "--time",        "--config",   "--dry-run",  "--root",   "--max-time",
      "--max-memory",  "--max-size", "--sandbox",  "--torch"};
  return names;
}

// Of these the file says nothing either: it is the same with and without them.
std::set<std::string> without_effect_on_file() {
  std::set<std::string> names = without_effect_on_result();
  names.insert({"--verify", "--verify-runs", "--latency", "--atol", "--rtol", "--save-test-data",
                "--ort-lib", "--provider", "--device", "--strict", "--print-ir", "--stop-after",
                "--threads", "--method", "--no-metadata"});
  return names;
}

std::string shell_line(const Strings& words) {
  Strings quoted;
  for (const std::string& w : words) quoted.push_back(shell_word(w));
  return join(quoted, " ");
}

}  // namespace

// Joins "--dynamic-axes SPEC" with '=', because its value may be left out.
Strings prepared(const Strings& arguments) {
  Strings out;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& a = arguments[i];
    if (a == "--") {
      out.insert(out.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
      return out;
    }
    if (a == "--dynamic-axes") {
      const bool value = i + 1 < arguments.size() && looks_like_axes(arguments[i + 1]);
      out.push_back(a + "=" + (value ? arguments[++i] : "every"));
      continue;
    }
    if (a == "--print-ir") {
      out.push_back(a + "=after:name");
      continue;
    }
    out.push_back(a);
  }
  return out;
}

void take_all_of_repeated(CLI::App& app) {
  for (const char* repeated :
       {"--input", "--alt-input", "--constant", "--dynamic-axes", "--input-names", "--output-names",
        "--rename", "--method", "--custom-op-lib", "--custom-opset", "--custom-schema", "--report",
        "--symbolics", "--atol", "--rtol", "--print-ir", "--disable-pass"})
    if (CLI::Option* option = app.get_option_no_throw(repeated))
      option->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

Strings words_of(const CLI::App& app, const std::set<std::string>& without) {
  Strings words;
  for (const CLI::Option* option : app.get_options()) {
    if (option->count() == 0 || !option->nonpositional()) continue;
    const std::string name = "--" + option->get_lnames().front();
    if (without.contains(name)) continue;
    const bool flag = option->get_items_expected_max() == 0 && option->results() == Strings{"true"};
    for (const std::string& value : option->results())
      words.push_back(flag ? name : name + "=" + value);
  }
  return words;
}

// "batch_norms       full   BatchNormalization goes into ...".
std::string pass_table() {
  std::string text = "pass              level  what it does\n";
  for (const optimize::PassInfo& p : optimize::kPasses) {
    std::string line(p.name);
    line.resize(18, ' ');
    line += name_of(p.from);
    line.resize(25, ' ');
    text += line.append(p.what) + "\n";
  }
  return text;
}

CommandLine parse_command_line(const Strings& arguments) {
  const VerbOfTask& verb = verb_of(arguments);
  CLI::App app(verb.what,
               verb.word.empty() ? "onnx-export" : "onnx-export " + std::string(verb.word));
  Raw r;
  r.o.task = verb.task;
  r.o.dry_run = verb.task != Task::Convert;
  set_up(app);
  add_options(app, r, verb.task);
  take_all_of_repeated(app);
  Strings rest = prepared(familiar(arguments, long_names(app)));
  if (!verb.word.empty() || (!rest.empty() && rest[0] == "convert")) rest.erase(rest.begin());
  parse_strictly(app, rest, kOneModel);
  CommandLine c;
  if (r.version) c.text = std::string("onnx-export ") + kVersion + "\n";
  if (r.list_passes) c.text = pass_table();
  if (r.help || r.help_all) c.text = help(app, r.help_all, verb.task);
  if (!c.text.empty()) return c;
  choose("--color", r.color, c.color);
  c.options = interpret(r);
  c.limits = read_limits(r.limits);
  c.options.provenance.version = kVersion;
  c.options.provenance.options = shell_line(words_of(app, without_effect_on_file()));
  c.files = files_of(c.options, r);
  if (!r.inputs_from.empty()) c.folders = {r.inputs_from};
  c.methods = options_of_methods(c.options);
  c.words = words_of(app, without_effect_on_result());
  return c;
}

}  // namespace oe::app
