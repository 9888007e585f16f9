// The verb `convert`: lets the worker convert, commits its files and prints the result.
#include "app/convert.h"

#include <signal.h>
#include <sys/stat.h>

#include <filesystem>
#include <iostream>
#include <tuple>

#include "app/options.h"
#include "app/output.h"
#include "app/report.h"
#include "app/spawn.h"
#include "app/verbs/verb.h"
#include "lib/archive/recognise.h"
#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

using Strings = std::vector<std::string>;

// How often a worker may crash at sizes of its own choosing.
constexpr int kMostTries = 8;

// What tells a file from what it was.
class Unchanged {
 public:
  explicit Unchanged(const std::string& path) : path_(path), was_(state()) {}
  // Throws Failure(Unreadable).
  void require() const {
    if (state() != was_)
      throw Failure(ExitCode::Unreadable, "OE0117", path_ + ": changed while it was converted",
                    "convert it again when nobody writes to it");
  }

 private:
  using State = std::tuple<dev_t, ino_t, off_t, time_t, long>;
  State state() const {
    struct stat s {};
    if (stat(path_.c_str(), &s) != 0) return {};
    return {s.st_dev, s.st_ino, s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec};
  }
  const std::string& path_;
  State was_;
};

Report convert_in_worker(const Strings& arguments, Output& output, const Unchanged& model,
                         int& our_signal) {
  Strings left_out;
  for (int tries = 0;; ++tries) {
    Strings forwarded = {"convert",          output.model_tmp(), output.data_tmp(),
                         output.state_tmp(), output.test_tmp(),  std::to_string(left_out.size())};
    forwarded.insert(forwarded.end(), left_out.begin(), left_out.end());
    forwarded.insert(forwarded.end(), arguments.begin(), arguments.end());
    const WorkerResult w = run_worker(forwarded);
    our_signal = w.our_signal;
    if (!our_signal) model.require();
    // A worker that reported and then crashed while its libraries shut down has done its work.
    if (auto r = from_json(w.report)) return *r;
    // A kernel that does not check its sizes, at sizes that nobody asked for: without them.
    const bool again = w.signal && w.signal != SIGKILL && !w.our_signal && !w.trial.sizes.empty();
    if (again && tries < kMostTries) {
      left_out.insert(left_out.end(), {w.trial.sizes, w.trial.op});
      continue;
    }
    Report r;
    r.stop = stop_of(w);
    return r;
  }
}

bool usable(const Report& r) {
  return r.exit_code() == ExitCode::Ok || r.exit_code() == ExitCode::NotFullyVerified;
}

void print(const Report& r, const CommandLine& c) {
  const Options& o = c.options;
  const std::string text = render_text(r.diagnostics, static_cast<int>(r.outcome.opset));
  // -q keeps errors: a report without one has nothing to say.
  if (o.verbosity >= 0 || r.diagnostics.has_errors()) say(text, c.color);
  if (o.verbosity >= 0) say(found_line(r.outcome), c.color);
  if (r.stop)
    say(stop_text(*r.stop), c.color);
  else if (usable(r) && o.verbosity >= 0)
    say(summary(r, o) + "\n", c.color);
  if (o.time) std::cerr << time_table(r.outcome);
  if (o.json) std::cout << json_document(r, o) << std::flush;
}

}  // namespace

int convert(const std::vector<std::string>& arguments) {
  CommandLine c;
  c.color = wanted_color(arguments);
  Report r;
  int our_signal = 0;
  try {
    refuse_misspelt_verb(arguments);
    c = parse_command_line(arguments);
    if (!c.text.empty()) {
      std::cout << c.text << std::flush;
      return 0;
    }
    const Unchanged model(c.options.model);
    archive::require_torchscript(c.options.model);
    hold_ending_signals();
    Output output(c.options);
    r = convert_in_worker(arguments, output, model, our_signal);
    if (our_signal) {
      output.discard();
      end_by(our_signal);
    }
    if (usable(r) && !c.options.dry_run)
      output.commit(r.outcome.written.external, !r.outcome.state.empty());
  } catch (const Failure& f) {
    r.stop = stop_of(f);
  } catch (const std::exception& e) {
    r.stop = {ExitCode::Internal, "OE0003", e.what(), "this is a bug, please report it", nullptr};
  }
  print(r, c);
  return static_cast<int>(r.exit_code());
}

}  // namespace oe::app
