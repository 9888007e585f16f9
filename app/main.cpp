// onnx-export: reads the arguments, lets the worker convert, commits its files and prints the
// result. Links no LibTorch, so that it starts at once and outlives any crash.
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <tuple>

#include "app/options.h"
#include "app/output.h"
#include "app/report.h"
#include "app/spawn.h"
#include "lib/archive/recognise.h"
#include "lib/support/diagnostics.h"

namespace oe::app {
namespace {

using Strings = std::vector<std::string>;

// How often a worker may crash at sizes of its own choosing.
constexpr int kMostTries = 8;

// The --color of arguments that could not be read.
Color wanted_color(const Strings& arguments) {
  Color c = Color::Auto;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const bool apart = arguments[i] == "--color" && i + 1 < arguments.size();
    const std::string value = apart ? arguments[i + 1] : arguments[i];
    if (value == (apart ? "always" : "--color=always")) c = Color::Always;
    if (value == (apart ? "never" : "--color=never")) c = Color::Never;
  }
  return c;
}

bool use_color(Color c) {
  if (c != Color::Auto) return c == Color::Always;
  const auto set = [](const char* name) {
    const char* v = std::getenv(name);
    return v && *v && std::strcmp(v, "0") != 0;
  };
  if (std::getenv("NO_COLOR") && *std::getenv("NO_COLOR")) return false;
  return set("CLICOLOR_FORCE") || isatty(STDERR_FILENO);
}

// Prints to standard error, the first word of each message in colour.
void say(const std::string& text, bool color) {
  if (!color) {
    std::cerr << text;
    return;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string line = text.substr(begin, end - begin);
    for (const auto& [word, code] :
         {std::pair{"error:", "\33[1;31m"}, std::pair{"warning:", "\33[1;33m"},
          std::pair{"note:", "\33[1;36m"}, std::pair{"hint:", "\33[36m"}})
      if (line.starts_with(word))
        line = code + std::string(word) + "\33[0m" + line.substr(std::strlen(word));
    std::cerr << line;
    begin = end;
  }
}

Stop stop_of(const Failure& f) {
  return {f.exit_code, f.diagnostic_code, f.what(), f.hint, f.origin};
}

// What the worker's death means, when it left no report.
Stop stop_of(const WorkerResult& w) {
  const std::string where = w.stage.empty() ? "" : " in stage " + w.stage;
  if (w.out_of_memory)
    return {ExitCode::Limit, "OE0801", "the worker ran out of memory" + where, {}, nullptr};
  const char* name = w.signal ? sigabbrev_np(w.signal) : nullptr;
  const std::string how =
      w.signal ? "was ended by SIG" + std::string(name ? name : "?")
               : "exited with status " + std::to_string(w.exit_status) + " without a report";
  return {ExitCode::Crashed, "OE0901", "the worker " + how + where,
          w.signal == SIGKILL ? "somebody killed it, or a memory limit did"
                              : "this is a bug in onnx-export or LibTorch, please report it with "
                                "the model",
          nullptr};
}

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
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  Strings left_out;
  for (int tries = 0;; ++tries) {
    Strings forwarded = {output.model_tmp(), output.data_tmp(), output.state_tmp(),
                         std::to_string(left_out.size())};
    forwarded.insert(forwarded.end(), left_out.begin(), left_out.end());
    forwarded.insert(forwarded.end(), arguments.begin(), arguments.end());
    const WorkerResult w = run_worker(self.parent_path() / "onnx-export-worker", forwarded);
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

// Ends the way the signal would have ended us.
[[noreturn]] void end_by(int number) {
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  _exit(128 + number);
}

bool usable(const Report& r) {
  return r.exit_code() == ExitCode::Ok || r.exit_code() == ExitCode::NotFullyVerified;
}

void print(const Report& r, const CommandLine& c) {
  const bool color = use_color(c.color);
  const Options& o = c.options;
  const std::string text = render_text(r.diagnostics, static_cast<int>(r.outcome.opset));
  // -q keeps errors: a report without one has nothing to say.
  if (o.verbosity >= 0 || r.diagnostics.has_errors()) say(text, color);
  if (o.verbosity >= 0) say(found_line(r.outcome), color);
  if (r.stop)
    say(stop_text(*r.stop), color);
  else if (usable(r) && o.verbosity >= 0)
    say(summary(r, o) + "\n", color);
  if (o.time) std::cerr << time_table(r.outcome);
  if (o.json) std::cout << json_document(r, o) << std::flush;
}

int run(const Strings& arguments) {
  CommandLine c;
  c.color = wanted_color(arguments);
  Report r;
  int our_signal = 0;
  try {
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

}  // namespace
}  // namespace oe::app

int main(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error to report, with the files cleaned up
  return oe::app::run({argv + 1, argv + argc});
}
