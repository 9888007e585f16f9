#include "app/batch/batch_line.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <thread>

#include "app/choices.h"
#include "app/familiar.h"
#include "app/options.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

constexpr const char* kBatch = "Batch";

// Options of one run: they name its files, print into one stream, or end it early.
constexpr const char* kOfOneRun[] = {
    "MODEL",         "OUT.onnx",   "--output",     "--dry-run",    "--config",   "--verbose",
    "--diag-format", "--print-ir", "--stop-after", "--report",     "--log-file", "--save-test-data",
    "--time",        "--help-all", "--version",    "--inputs-from"};

// The part K/N of an array of jobs, from the variables that its scheduler sets.
std::optional<std::pair<size_t, size_t>> shard_of_environment() {
  const auto number_in = [](const char* name) -> std::optional<size_t> {
    const char* text = std::getenv(name);
    if (!text || !*text) return std::nullopt;
    size_t n = 0;
    number(name, text, n, size_t{0}, size_t{1000000});
    return n;
  };
  if (const auto id = number_in("SLURM_ARRAY_TASK_ID")) {
    const size_t first = number_in("SLURM_ARRAY_TASK_MIN").value_or(0);
    const auto count = number_in("SLURM_ARRAY_TASK_COUNT");
    if (!count || *id < first)
      usage(
          "SLURM_ARRAY_TASK_ID is set, but SLURM_ARRAY_TASK_COUNT or _MIN is missing or does "
          "not match it",
          "specify the part with --shard K/N");
    return std::pair{*id - first + 1, *count};
  }
  // The environment of an indexed Job has the index alone.
  if (const auto index = number_in("JOB_COMPLETION_INDEX")) {
    const auto count = number_in("JOB_COMPLETIONS");
    if (!count)
      usage("JOB_COMPLETION_INDEX is set, but JOB_COMPLETIONS is not",
            "set JOB_COMPLETIONS to the Job's completions, or specify the part with --shard K/N");
    return std::pair{*index + 1, *count};
  }
  return std::nullopt;
}

std::pair<size_t, size_t> shard(const std::string& text) {
  std::pair<size_t, size_t> s = {1, 1};
  if (text.empty()) {
    s = shard_of_environment().value_or(s);
  } else {
    const size_t slash = text.find('/');
    if (slash == std::string::npos || slash == 0 || slash + 1 == text.size())
      usage("--shard: '" + text + "' is not K/N", "write the third of eight parts as --shard 3/8");
    number("--shard", text.substr(0, slash), s.first, size_t{1}, size_t{1000000});
    number("--shard", text.substr(slash + 1), s.second, size_t{1}, size_t{1000000});
  }
  if (s.first > s.second)
    usage(
        "--shard: there is no part " + std::to_string(s.first) + " of " + std::to_string(s.second),
        "parts are numbered from 1 to " + std::to_string(s.second));
  return s;
}

BatchTask task_of(const RawBatch& r) {
  const int tasks = r.check + r.inspect + !r.line.verify_files.empty() + r.line.merge;
  if (tasks > 1) usage("--check, --inspect, --verify-files and --merge cannot be combined");
  if (r.check) return BatchTask::Check;
  if (r.inspect) return BatchTask::Inspect;
  return r.line.verify_files.empty() ? BatchTask::Convert : BatchTask::Verify;
}

// Rejects options that contradict each other.
void require_consistent(const RawBatch& r, const BatchLine& line) {
  const bool writes = line.task == BatchTask::Convert;
  if (r.line.merge) {
    if (line.output.empty()) usage("--merge: specify the folder of the parts with -o");
    return;
  }
  if (r.line.sources.empty() && r.line.list.empty() && r.line.manifest.empty())
    usage("batch: no SOURCE given", "onnx-export batch FOLDER -o OUT");
  if (writes && line.output.empty() && !r.line.dry_run)
    usage("batch: no output folder given", "specify it with -o OUT");
  if (!writes && !line.output.empty())
    usage("-o: --check, --inspect and --verify-files write no models", "remove it");
  if (r.mirror && r.flat) usage("--mirror and --flat contradict each other");
  if (r.keep_going && r.line.fail_fast) usage("--keep-going and --fail-fast contradict each other");
  if (r.line.resume && line.output.empty())
    usage("--resume: the journal is in the output folder; specify it with -o");
  if (!writes && !r.convert.verify.empty())
    usage("--verify compares converted models, but nothing is converted here");
}

}  // namespace

void add_batch_options(CLI::App& app, RawBatch& r) {
  add_options(app, r.convert);
  for (const char* name : kOfOneRun)
    if (CLI::Option* option = app.get_option_no_throw(name)) app.remove_option(option);
  app.add_option("SOURCE", r.line.sources,
                 "TorchScript files, folders (searched for *.pt *.pth *.ts *.jit *.ptl "
                 "*.torchscript) and quoted patterns")
      ->type_name("");
  const auto text = [&](const char* name, std::string& to, const char* what, const char* value) {
    app.add_option(name, to, what)->type_name(value)->group(kBatch);
  };
  const auto flag = [&](const char* name, bool& to, const char* what) {
    app.add_flag(name, to, what)->group(kBatch);
  };
  text("-o,--output", r.line.output, "Folder for the ONNX files and the journal", "DIR");
  // Of one run it is a document.
  app.get_option("--json")
      ->description("Print events as JSON lines on standard output")
      ->group(kBatch);
  app.get_option("--root")->group(kBatch);
  text("--list", r.line.list, "File with one path in each line", "FILE");
  text("--manifest", r.line.manifest,
       "JSON lines with model, inputs, options and output (docs/schema/manifest.schema.json)",
       "FILE");
  text("--filter", r.line.filter, "Only models whose path matches a regular expression", "REGEX");
  flag("--mirror", r.mirror, "Keep the models' folders in the output folder (default for folders)");
  flag("--flat", r.flat, "Write all outputs into the output folder itself");
  flag("--sidecars", r.line.sidecars,
       "Read more options of NAME.pt from the file NAME.onnx-export beside it");
  flag("--dry-run", r.line.dry_run, "List the planned work, and exit");
  text("-j,--jobs", r.jobs, "Models at a time (default: one for every two processors)", "N");
  flag("--keep-going", r.keep_going, "Continue after a model that fails (default)");
  flag("--fail-fast", r.line.fail_fast, "Start no further model after a failure");
  flag("--resume", r.line.resume,
       "Continue the batch of the journal: keep models that are finished and unchanged");
  app.add_option("--report", r.line.reports,
                 "Write a report; the extension selects the format: .html (a page), .jsonl (a "
                 "JSON document in each line), .json (a list of them), .md, .xml (JUnit) or "
                 ".sarif; repeatable")
      ->type_name("FILE")
      ->group(kBatch)
      ->allow_extra_args(false)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  text("--pages", r.line.pages,
       "Write a page for each model into this folder; .html reports link to them", "DIR");
  text("--baseline", r.line.baseline,
       "Compare with an earlier .jsonl report; exit code 12 only if a model got worse", "FILE");
  flag("--check", r.check, "List everything that blocks conversion; write no models");
  flag("--inspect", r.inspect, "List the content of each file, without running it");
  text("--verify-files", r.line.verify_files,
       "Compare each model with the ONNX file of its name in DIR; convert nothing", "DIR");
  text("--shard", r.shard,
       "Do the K-th of N parts (also from SLURM_ARRAY_TASK_ID, _COUNT and _MIN, or "
       "JOB_COMPLETION_INDEX and JOB_COMPLETIONS)",
       "K/N");
  flag("--merge", r.line.merge,
       "Write the reports of all parts from the journals in -o DIR, and list models that no part "
       "did");
}

BatchLine parse_batch_line(const Strings& arguments) {
  CLI::App app("Converts many TorchScript files, each in its own confined worker.",
               "onnx-export batch");
  RawBatch r;
  set_up(app);
  add_batch_options(app, r);
  take_all_of_repeated(app);
  parse_strictly(app, prepared(familiar(arguments, long_names(app))),
                 "onnx-export batch --help shows the usage");
  BatchLine line;
  if (r.convert.help) {
    for (CLI::Option* o : app.get_options())
      if (o->nonpositional() && o->get_group() != kBatch && o->get_group() != "Options")
        o->group("");
    app.footer(
        "Every other option of `onnx-export --help-all` applies to each model. Exit codes: 0 "
        "all\nconverted, 12 some failed, others as of convert.");
    line.text = help_text(app);
    return line;
  }
  line = r.line;
  // "converted/" is the folder "converted".
  while (line.output.size() > 1 && line.output.ends_with('/')) line.output.pop_back();
  line.task = task_of(r);
  if (r.mirror || r.flat) line.mirror = r.mirror;
  line.force = r.convert.o.force;
  line.json = r.convert.o.json;
  line.quiet = r.convert.quiet;
  line.root = r.convert.o.root;
  choose("--color", r.convert.color, line.color);
  choose("--progress", r.convert.progress, line.progress);
  line.jobs = std::max(1U, std::thread::hardware_concurrency() / 2);
  number("--jobs", r.jobs, line.jobs, size_t{1}, size_t{1024});
  // The report of all parts may be made inside of one.
  if (!line.merge) line.shard = shard(r.shard);
  require_format(line.reports, {".html", ".json", ".jsonl", ".md", ".xml", ".sarif"});
  if (!line.pages.empty() && line.task == BatchTask::Inspect)
    usage("--pages: --inspect converts no models, so there is nothing to show");
  require_consistent(r, line);
  if (!line.filter.empty()) try {
      std::regex(line.filter, std::regex::extended);
    } catch (const std::regex_error&) {
      usage("--filter: '" + line.filter + "' is not a regular expression");
    }
  line.limits = read_limits(r.convert.limits);
  line.ort_lib = r.convert.ort_lib;
  line.onnxruntime = line.task == BatchTask::Verify ||
                     (!r.convert.verify.empty() && choose("--verify", r.convert.verify) == 0);
  // Each run gets the options that are not the batch's own.
  std::set<std::string> without = {"--force", "--json",     "--quiet",
                                   "--color", "--progress", "--root"};
  for (const CLI::Option* option : app.get_options())
    if (option->get_group() == kBatch) without.insert("--" + option->get_lnames().front());
  line.words = words_of(app, without);
  return line;
}

}  // namespace oe::app
