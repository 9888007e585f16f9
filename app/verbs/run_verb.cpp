// What the supervisor does with a verb: here, or in the worker.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>

#include "app/document.h"
#include "app/memory.h"
#include "app/report.h"
#include "app/supervise/run_worker.h"
#include "app/verbs/verb.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

// What the worker reports, or what kept it from doing so.
Report in_worker(const VerbEntry& entry, const Verb& verb, const Strings& arguments,
                 PinnedFiles& files) try {
  WorkerJob job;
  job.arguments = {"verb", std::string(entry.name)};
  job.arguments.insert(job.arguments.end(), arguments.begin(), arguments.end());
  job.launch = verb.launch();
  job.launch.limits = limits_for(verb.limits, files.pinned_bytes());
  job.launch.input_bytes = files.pinned_bytes();
  FileBroker broker(files);
  for (const std::string& file : verb.files())
    if (verb.reads_onnx())
      broker.may_read_onnx(file);
    else
      broker.may_read(file);
  job.files = &broker;
  hold_ending_signals();
  const WorkerResult w = run_worker(job);
  if (w.our_signal) end_by(w.our_signal);
  std::vector<Report> all = from_json(w.report);
  Report r = all.empty() ? Report() : std::move(all[0]);
  if (all.empty()) r.stop = stop_of(w, job);
  if (r.stop) name_memory_limit(*r.stop, w, job);
  return r;
} catch (const Failure& f) {  // it cannot be started
  Report r;
  r.stop = stop_of(f);
  return r;
}

// Who reads `onnx-export list-ops | head` has what they want: as any filter, without a word.
void end_where_nobody_reads() {
  pollfd out{STDOUT_FILENO, 0, 0};
  if (poll(&out, 1, 0) > 0 && (out.revents & POLLERR)) end_by(SIGPIPE);
}

}  // namespace

int run_verb(const VerbEntry& entry, const Strings& arguments) {
  const Color color = wanted_color(arguments);
  Report r;
  PinnedFiles files;
  set_file_access(files);
  try {
    std::string text;
    const std::unique_ptr<Verb> verb = read_verb(entry, arguments, text);
    if (!verb) {
      std::cout << text << std::flush;
      return 0;
    }
    SafeStream out(std::cout);
    for (const std::string& file : verb->files()) files.pin(file);
    files.limit_size(limits_for(verb->limits, files.pinned_bytes()).size);
    if (const std::optional<ExitCode> done = verb->run(out))
      r.outcome.exit_code = *done;
    else
      verb->finish(r = in_worker(entry, *verb, arguments, files), out);
    out.flush();
    end_where_nobody_reads();
    require_written(out);
  } catch (const Failure& f) {
    r.stop = stop_of(f);
  } catch (const std::exception& e) {
    if (is_out_of_memory(e)) throw;  // main() reports it without memory
    r.stop = {ExitCode::Internal, "OE0003", e.what(), "this is a bug; please report it", nullptr};
  }
  if (r.stop && wants_json(arguments))
    std::cout << dump(verb_document(entry.name, ordered_json::object(), r.exit_code(),
                                    ordered_json::array({stop_json(*r.stop)})),
                      2)
              << std::endl;
  say(render_text(r.diagnostics, static_cast<int>(r.outcome.opset)), color);
  if (r.stop) say(stop_text(*r.stop), color);
  return static_cast<int>(r.exit_code());
}

}  // namespace oe::app
