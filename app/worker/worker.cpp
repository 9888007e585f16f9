// onnx-export-worker: converts in a process of its own, so that a crash in LibTorch is a message.
//
//   onnx-export-worker LAUNCH convert FOLDER TEST_FOLDER K [NAME]... N [SIZES OPERATOR]...
//       ARGUMENTS...
//   onnx-export-worker LAUNCH verb NAME ARGUMENTS...
//   onnx-export-worker LAUNCH warm
//
// Started by onnx-export only; LAUNCH is JSON (app/launch.h), the K names are taken in the output's
// folder, and the N / 2 pairs are sizes that ended an earlier worker. Converted models are written
// into FOLDER under their final names.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <new>

#include "app/launch.h"
#include "app/options.h"
#include "app/report.h"
#include "app/worker/remote_files.h"
#include "app/worker/sandbox.h"
#include "app/worker/verbs.h"
#include "app/worker/warm.h"
#include "lib/compare/test_data.h"
#include "lib/onnx/about.h"
#include "lib/onnx/shared_data.h"
#include "lib/support/safe_text.h"
#include "lib/support/trial.h"
#include "lib/tasks/check.h"
#include "lib/tasks/convert.h"
#include "lib/tasks/verify.h"
#include "lib/torch/about.h"
#include "lib/torch/cuda.h"
#include "lib/torch/load.h"
#include "lib/torch/machine.h"
#include "lib/torch/runtime.h"
#include "lib/verify/ort.h"
#include "lib/verify/ort_library.h"

namespace oe::app {
namespace {

void send(std::string line) {
  line += '\n';
  for (size_t done = 0; done < line.size();) {
    const ssize_t n = write(kReportFd, line.data() + done, line.size() - done);
    if (n < 0 && errno != EINTR) return;  // the supervisor is gone; so are we, soon
    if (n > 0) done += static_cast<size_t>(n);
  }
}

// What `work` reports; no exception of ours may end the process.
template <class F>
Report reported(const F& work) {
  Report r;
  const auto stop = [&](ExitCode exit_code, const char* code, const std::string& message,
                        const std::string& hint = {}) {
    r.stop = {exit_code, code, message, hint, nullptr};
  };
  try {
    work(r);
  } catch (const Failure& f) {
    r.stop = stop_of(f);
  } catch (const std::bad_alloc&) {
    stop(ExitCode::Limit, "OE0801", "out of memory");
  } catch (const std::exception& e) {
    const std::string message = torch_io::message_of(e);
    if (torch_io::is_out_of_memory(e.what()))
      stop(ExitCode::Limit, "OE0801", "out of memory: " + message);
    else
      stop(ExitCode::Internal, "OE0003", message,
           "this is a bug in onnx-export; please report it with the model");
  } catch (...) {
    stop(ExitCode::Internal, "OE0003", "an exception of an unknown kind",
         "this is a bug in onnx-export; please report it with the model");
  }
  return r;
}

// Where the files of a conversion (of verify: the bundle) are made, and what was learnt from an
// earlier try.
struct Place {
  std::filesystem::path folder, test_folder;
  std::vector<std::string> taken;  // TemporaryFiles::taken
  std::vector<LeftOut> left_out;
};

// One method. `shared`: the external data of several; null where it is the only one.
void convert(const Options& told, const Place& place, onnx::SharedData* shared, Report& r) {
  Options o = told;
  o.input = with_test_sets(told.input);
  o.capture.left_out = place.left_out;
  r.outcome.opset = o.opset;
  // Standard output belongs to the model, or to a document.
  const bool sarif = o.diagnostic_format == DiagnosticFormat::Sarif;
  SafeStream out(o.output == "-" || o.json || sarif ? std::cerr : std::cout);
  const std::string of = shared ? " of " + o.load.method : "";
  const auto on_stage = [&](std::string_view stage) { send("stage " + std::string(stage) + of); };
  if (o.task == Task::Verify)
    return verify_file(o, place.test_folder, place.folder, r.outcome, r.diagnostics, out, on_stage);
  if (o.task == Task::Check) return check_model(o, r.outcome, r.diagnostics, out, on_stage);
  TemporaryFiles files{place.folder / std::filesystem::path(o.output).filename(),
                       place.folder / o.write.external_file,
                       place.folder / o.state_file,
                       shared ? place.test_folder / o.load.method : place.test_folder,
                       shared,
                       place.taken};
  for (const std::string& name : o.without_effect)
    r.diagnostics.report({"OE0304", Severity::Note, "",
                          name + " has no effect on a serialized file", "", nullptr, 0});
  try {
    oe::convert(o, files, r.outcome, r.diagnostics, out, on_stage);
  } catch (const StoppedAfter& s) {
    r.outcome.stopped_after = s.stage;
  }
}

// What is said of one method is no reason to stop before the next, so that all of it is said.
bool goes_on(const Report& r) {
  return usable(r.exit_code()) || r.exit_code() == ExitCode::Unsupported ||
         r.exit_code() == ExitCode::Mismatch;
}

// A report for each method, each of which starts from the file; none after the one that ends it.
std::vector<Report> convert_each(const std::vector<Options>& methods, const Place& place) {
  onnx::SharedData shared;
  std::vector<Report> reports;
  for (const Options& o : methods) {
    reports.push_back(
        reported([&](Report& r) { convert(o, place, methods.size() > 1 ? &shared : nullptr, r); }));
    if (!goes_on(reports.back())) break;
  }
  return reports;
}

std::vector<Report> convert(const std::vector<std::string>& arguments, const Place& place) {
  std::vector<Options> methods;
  const Report read = reported([&](Report&) { methods = parse_command_line(arguments).methods; });
  if (read.stop) return {read};
  send("versions LibTorch " + torch_io::libtorch_version() + ", ONNX " + onnx::onnx_version());
  std::vector<Report> reports = convert_each(methods, place);
  // Weights of several go into one file, or into none: which is known when the last one is written.
  const auto outside = [](const Report& r) { return r.outcome.written.external; };
  if (methods[0].write.external == onnx::WriteOptions::External::Auto &&
      reports.size() == methods.size() && std::ranges::any_of(reports, outside) &&
      !std::ranges::all_of(reports, outside)) {
    for (Options& o : methods) o.write.external = onnx::WriteOptions::External::Always;
    reports = convert_each(methods, place);
  }
  return reports;
}

// LibTorch's parser, and whoever walks what it made, call themselves once for each bracket.
void allow_deep_code() {
  constexpr rlim_t kStack = 100 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kStack) return;
  limit.rlim_cur = std::min(kStack, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

// Libraries that the work needs: a confined process cannot open them. One that is missing is
// reported where it is needed.
std::shared_ptr<verify::Ort> load_libraries(const Launch& l) {
  for (const std::string& library : l.op_libs) torch_io::open_operator_library(library);
  std::string why;
  return l.onnxruntime ? verify::Ort::load(l.ort_lib, why) : nullptr;
}

// Loads the libraries that every process forked from this one shares.
void preload(const Launch& l) {
  std::string why;
  if (l.onnxruntime) verify::load_ort_library(l.ort_lib, why);
}

std::vector<Report> perform(const std::vector<std::string>& words, const SandboxLevel& sandbox) {
  if (words[0] == "verb")
    return {reported([&](Report& to) {
      run_verb_part(words[1], {words.begin() + 2, words.end()}, sandbox, std::cout, to);
    })};
  Place place{words[1], words[2], {}, {}};
  const auto names = words.begin() + 4, names_end = names + std::stol(words[3]);
  place.taken.assign(names, names_end);
  const auto pairs = names_end + 1, pairs_end = pairs + std::stol(*names_end);
  for (auto i = pairs; i + 1 < pairs_end; i += 2) place.left_out.push_back({*i, i[1]});
  return convert({pairs_end, words.end()}, place);
}

std::vector<Report> work(const Launch& launch, const std::vector<std::string>& words) {
  share_trial_note(kTrialFd);
  static std::shared_ptr<verify::Ort> runtime;  // its environment lasts as long as the process
  static std::optional<RemoteFiles> files;
  SandboxLevel sandbox;
  const Report prepared = reported([&](Report&) {
    apply_limits(launch);
    torch_io::show_warnings(false);
    if (launch.gpu) torch_io::open_cuda();  // one that is missing is reported where it is used
    torch_io::read_machine();
    runtime = load_libraries(launch);
    set_file_access(files.emplace(launch.limits));
    sandbox = confine(launch);
  });
  send("sandbox " + dump(sandbox_json(sandbox), -1));
  if (prepared.stop) return {prepared};
  return perform(words, sandbox);
}

}  // namespace
}  // namespace oe::app

int main(int argc, char** argv) {
  // Nothing is to outlive the supervisor, which cleans up.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGXFSZ, SIG_IGN);  // a file that becomes too large is a write that fails
  using namespace oe::app;
  allow_deep_code();
  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() == 2 && words[1] == "warm") {
    preload(launch_from(words[0]));
    words = wait_for_work();
  }
  const std::string kind = words.size() > 2 ? words[1] : "";
  if (kind != "verb" && (kind != "convert" || words.size() < 6)) {
    std::cerr << "onnx-export-worker is started by onnx-export\n";
    return 2;
  }
  const std::vector<Report> reports = work(launch_from(words[0]), {words.begin() + 1, words.end()});
  send(to_json(reports));
  // The files are complete. Tearing LibTorch down takes longer than it is worth.
  std::cout.flush();
  _exit(static_cast<int>(reports.back().exit_code()));
}
