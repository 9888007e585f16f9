// One run of convert, check or verify: the worker works, its files are committed.
#include "app/model_run.h"

#include <sys/stat.h>

#include <tuple>

#include "app/argument_files.h"
#include "app/memory.h"
#include "app/pages/model_report.h"
#include "app/problems.h"
#include "app/progress_line.h"
#include "app/report_files.h"
#include "app/verbs/verb.h"
#include "app/version.h"
#include "lib/archive/checksums.h"
#include "lib/archive/recognise.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

using Strings = std::vector<std::string>;

// How often a worker may crash at sizes of its own choosing.
constexpr int kMostTries = 8;

// Whether the bytes of a pinned file are still those that were checked. That its path leads to
// another file by now matters only where the output refers to the path (`named`).
class Unchanged {
 public:
  Unchanged(const PinnedFiles& files, const std::string& path, bool named)
      : path_(path), file_(files.pinned(path)), named_(named), was_(state()) {}
  // Throws Failure(Unreadable).
  void require() const {
    if (state() != was_ || (named_ && !at_path()))
      throw Failure(ExitCode::Unreadable, "OE0117", path_ + ": changed while it was converted",
                    "convert it again when no other process writes to it");
  }

 private:
  using State = std::tuple<off_t, time_t, long>;
  State state() const {
    struct stat s {};
    if (!file_ || fstat(file_->get(), &s) != 0) return {};
    return {s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  }
  bool at_path() const {
    struct stat now {
    }, pinned{};
    return file_ && stat(path_.c_str(), &now) == 0 && fstat(file_->get(), &pinned) == 0 &&
           now.st_dev == pinned.st_dev && now.st_ino == pinned.st_ino;
  }
  const std::string& path_;
  const Descriptor* file_;
  bool named_;
  State was_;
};

// The libraries, the limits and the files of the worker that does what the command line asks for.
WorkerJob job_of(const ModelRun& run, FileBroker& broker) {
  const CommandLine& line = run.line;
  const Options& o = line.options;
  for (const std::string& file : line.files) broker.may_read(file);
  for (const std::string& folder : line.folders) broker.may_read_below(folder);
  if (!o.onnx_file.empty()) broker.may_read_onnx(o.onnx_file);
  WorkerJob job;
  job.files = &broker;
  job.warm = run.warm;
  job.launch = {limits_for(line.limits, run.files.pinned_bytes()),
                run.files.pinned_bytes(),
                o.load.device != "cpu" || o.verification.provider == verify::Provider::Cuda,
                o.verify,
                o.verification.ort_lib,
                o.load.custom_op_libs};
  job.start = run.start;
  return job;
}

Results in_worker(const Strings& arguments, ModelRun& run, const Unchanged& model) {
  ProgressLine progress(run.line.options);
  const WorkerListener listener = {[&](const std::string& text) { run.log.write(text); },
                                   [&](const std::string& name) {
                                     run.log.write("stage " + safe_line(name, TextTarget::Log));
                                     progress.stage(name);
                                     if (run.stage) run.stage(name);
                                   },
                                   [&] { progress.show(); }};
  Strings files(2), left_out, taken;
  if (const auto& out = run.output) {
    files = {out->folder(), out->test_folder()};
    taken = out->taken();
  }
  if (run.bundle) files = {run.bundle->tmp(), run.test_data->tmp()};
  FileBroker broker(run.files);
  for (const std::string& folder : files) broker.may_write_below(folder);
  WorkerJob job = job_of(run, broker);
  Results results;
  results.facts = run.results.facts;
  for (int tries = 0;; ++tries) {
    Strings& forwarded = job.arguments = {"convert"};
    forwarded.insert(forwarded.end(), files.begin(), files.end());
    forwarded.push_back(std::to_string(taken.size()));
    forwarded.insert(forwarded.end(), taken.begin(), taken.end());
    forwarded.push_back(std::to_string(left_out.size()));
    forwarded.insert(forwarded.end(), left_out.begin(), left_out.end());
    forwarded.insert(forwarded.end(), arguments.begin(), arguments.end());
    const WorkerResult w = run_worker(job, listener);
    run.our_signal = w.our_signal;
    results.sandbox = w.sandbox;
    if (!run.our_signal) model.require();
    // A worker that reported and then crashed while its libraries shut down has done its work.
    if (results.reports = from_json(w.report); !results.reports.empty()) {
      for (Report& r : results.reports)
        if (r.stop) name_memory_limit(*r.stop, w, job);
      return results;
    }
    // A kernel that does not check its sizes, at sizes that nobody asked for: without them.
    const bool again = w.signal && w.signal != SIGKILL && w.signal != SIGXCPU && !w.our_signal &&
                       !w.trial.sizes.empty();
    if (again && tries < kMostTries) {
      run.log.write(safe_line("the worker ended in " + w.trial.op + " at " + w.trial.sizes) +
                    ": repeating without these sizes");
      left_out.insert(left_out.end(), {w.trial.sizes, w.trial.op});
      continue;
    }
    results.end(stop_of(w, job), run.line.methods.size());
    return results;
  }
}

void log_end(ModelRun& run) {
  const std::vector<Options>& methods = run.line.methods;
  run.log.write(problem_text(run.results, methods, /*all=*/true));
  run.log.write(result_lines(run.results, methods));
  run.log.write(time_tables(run.results, methods));
  run.log.write(run.our_signal
                    ? "ended by signal " + std::to_string(run.our_signal)
                    : "exit code " + std::to_string(static_cast<int>(run.results.exit_code())));
}

std::string command_text(const Strings& arguments) {
  std::string text = "command onnx-export";
  for (const std::string& a : arguments) text += " " + shell_word(a);
  return text;
}

// Of the options, and of the files that they name: another content is another result.
std::string options_digest(const ModelRun& run) {
  std::string text;
  for (const std::string& word : run.line.words) text += word + '\0';
  for (const std::string& file : run.line.files)
    if (const Descriptor* d = run.files.pinned(file); d && file != run.line.options.load.model)
      text += sha256_of_file(d->get()) + '\0';
  return sha256(text);
}

void begin_facts(ModelRun& run) {
  const Descriptor* model = run.files.pinned(run.line.options.load.model);
  struct stat s {};
  if (model && fstat(model->get(), &s) == 0 && S_ISREG(s.st_mode)) {
    run.results.facts.model_bytes = static_cast<uint64_t>(s.st_size);
    run.digest.emplace(model->get());
  }
  run.results.facts.options = run.line.words;
  run.results.facts.options_sha256 = options_digest(run);
}

void finish_digest(ModelRun& run) {
  if (run.digest) run.results.facts.model_sha256 = run.digest->finish();
  run.digest.reset();
}

// Completes the members of the document that are not in the reports.
void add_facts(ModelRun& run) {
  finish_digest(run);
  run.results.facts.seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - run.start).count();
}

// The work itself. Throws Failure.
void perform(const Strings& arguments, ModelRun& run) {
  const Options& o = run.line.options;
  require_report_folders(o.reports);
  run.reports = !o.reports.empty();
  run.log.open(o);
  run.log.write("onnx-export " + std::string(kVersion));
  run.log.write(safe_line(command_text(arguments), TextTarget::Log));
  // Each file is opened once: what is checked is what is converted.
  for (const std::string& file : run.line.files) run.files.pin(file);
  run.files.limit_size(limits_for(run.line.limits, run.files.pinned_bytes()).size);
  const bool in_place = o.write.external == onnx::WriteOptions::External::InPlace;
  const Unchanged model(run.files, o.load.model, in_place);
  if (o.json || !o.bundle.empty() || !o.reports.empty()) begin_facts(run);
  if (run.begin) {
    finish_digest(run);
    if (!run.begin()) return;
  }
  const archive::Archive archive = archive::require_torchscript(o.load.model);
  hold_ending_signals();
  archive::ChecksumRun sums(archive);
  if (o.task == Task::Convert) run.output.emplace(run.line.methods);
  if (o.task == Task::Verify) {
    run.test_data.emplace(run.line.methods);
    run.bundle.emplace(o);
  }
  run.results = in_worker(arguments, run, model);
  if (!run.our_signal) run.our_signal = pending_signal();
  if (run.our_signal) throw Interrupted{run.our_signal};
  sums.finish();
  if (run.bundle) {
    add_facts(run);
    run.bundle->commit(o, json_document(run.results, run.line.methods));
    if (run.results.usable()) {
      run.test_data->place({});
      run.test_data->keep();
    }
  }
  if (allocation_has_failed()) throw std::bad_alloc();  // before anything is replaced
  if (!run.output || !run.results.usable() || o.dry_run) return;
  add_facts(run);
  if (run.before_commit) run.before_commit();
  run.output->commit(run.results.reports);
}

// Of a run that failed too.
void write_reports_of(ModelRun& run) {
  if (!run.reports) return;
  try {
    write_model_reports(run);
  } catch (const Failure& f) {
    run.results.end(stop_of(f), run.line.methods.size());
  }
}

}  // namespace

void run_model(const std::vector<std::string>& given, ModelRun& run) {
  set_file_access(run.files);
  Strings arguments = given;
  run.line.color = wanted_color(arguments);
  const std::string format = value_of("--diag-format", arguments);
  if (format == "json") run.line.options.diagnostic_format = DiagnosticFormat::Json;
  if (format == "sarif") run.line.options.diagnostic_format = DiagnosticFormat::Sarif;
  run.line.options.json = wants_json(arguments) && format != "sarif";
  run.line.methods = {run.line.options};
  try {
    arguments = with_files(given);
    refuse_misspelt_verb(arguments);
    run.line = parse_command_line(arguments);
    if (!run.line.text.empty()) return;
    perform(arguments, run);
  } catch (const Interrupted& i) {
    run.our_signal = i.signal;
    log_end(run);
    run.output.reset();
    run.test_data.reset();
    run.bundle.reset();
    return;
  } catch (const Failure& f) {
    run.results.end(stop_of(f), run.line.methods.size());
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) throw;  // main() reports it without memory
    run.results.end(
        {ExitCode::Internal, "OE0003", e.what(), "this is a bug; please report it", nullptr},
        run.line.methods.size());
  }
  log_end(run);
  add_facts(run);
  write_reports_of(run);
}

}  // namespace oe::app
