// What the supervisor does with a verb: here, or in the worker.
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <iostream>

#include "app/report.h"
#include "app/spawn.h"
#include "app/verbs/verb.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

// What the worker reports, or what kept it from doing so.
Report in_worker(const VerbEntry& entry, const Strings& arguments) try {
  Strings forwarded = {"verb", std::string(entry.name)};
  forwarded.insert(forwarded.end(), arguments.begin(), arguments.end());
  hold_ending_signals();
  const WorkerResult w = run_worker(forwarded);
  if (w.our_signal) end_by(w.our_signal);
  if (const std::vector<Report> all = from_json(w.report); !all.empty()) return all[0];
  Report r;
  r.stop = stop_of(w);
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
  try {
    std::string text;
    const std::unique_ptr<Verb> verb = read_verb(entry, arguments, text);
    if (!verb) {
      std::cout << text << std::flush;
      return 0;
    }
    SafeStream out(std::cout);
    if (const std::optional<ExitCode> done = verb->run(out))
      r.outcome.exit_code = *done;
    else
      verb->finish(r = in_worker(entry, arguments), out);
    out.flush();
    end_where_nobody_reads();
    require_written(out);
  } catch (const Failure& f) {
    r.stop = stop_of(f);
  } catch (const std::exception& e) {
    r.stop = {ExitCode::Internal, "OE0003", e.what(), "this is a bug, please report it", nullptr};
  }
  say(render_text(r.diagnostics, static_cast<int>(r.outcome.opset)), color);
  if (r.stop) say(stop_text(*r.stop), color);
  return static_cast<int>(r.exit_code());
}

}  // namespace oe::app
