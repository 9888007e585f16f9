// onnx-export-worker: converts in a process of its own, so that a crash in LibTorch is a message.
//
//   onnx-export-worker convert MODEL_TMP DATA_TMP STATE_TMP TEST_TMP N [SIZES OPERATOR]...
//   ARGUMENTS... onnx-export-worker verb NAME ARGUMENTS...
//
// Started by onnx-export only; the N / 2 pairs are sizes that ended an earlier worker.
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <new>

#include "app/options.h"
#include "app/report.h"
#include "app/spawn.h"
#include "app/worker/verbs.h"
#include "lib/check_model.h"
#include "lib/onnx/about.h"
#include "lib/pipeline.h"
#include "lib/support/trial.h"
#include "lib/test_data.h"
#include "lib/torch/about.h"
#include "lib/torch/runtime.h"
#include "lib/verify_file.h"

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
           "this is a bug in onnx-export, please report it with the model");
  } catch (...) {
    stop(ExitCode::Internal, "OE0003", "an exception of an unknown kind",
         "this is a bug in onnx-export, please report it with the model");
  }
  return r;
}

// `files`: the temporary ones of the model, its data and its state, and the folder of test data;
// of verify the first is the folder of the bundle.
void convert(const std::vector<std::string>& arguments, std::vector<LeftOut> left_out,
             const char* const* files, Report& r) {
  Options o = parse_command_line(arguments).options;
  o.left_out = std::move(left_out);
  read_test_sets(o);
  r.outcome.opset = o.opset;
  // Standard output belongs to the model, or to a document.
  const bool sarif = o.diagnostic_format == DiagnosticFormat::Sarif;
  std::ostream& out = o.output == "-" || o.json || sarif ? std::cerr : std::cout;
  send("versions LibTorch " + torch_io::libtorch_version() + ", ONNX " + onnx::onnx_version());
  const auto on_stage = [](std::string_view stage) { send("stage " + std::string(stage)); };
  if (o.task == Task::Verify)
    return verify_file(o, files[3], files[0], r.outcome, r.diagnostics, out, on_stage);
  if (o.task == Task::Check) return check_model(o, r.outcome, r.diagnostics, out, on_stage);
  oe::convert(o, files[0], files[1], files[2], files[3], r.outcome, r.diagnostics, out, on_stage);
}

// LibTorch's parser, and whoever walks what it made, call themselves once for each bracket.
void allow_deep_code() {
  constexpr rlim_t kStack = 100 << 20;
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kStack) return;
  limit.rlim_cur = std::min(kStack, limit.rlim_max);
  setrlimit(RLIMIT_STACK, &limit);
}

}  // namespace
}  // namespace oe::app

int main(int argc, char** argv) {
  // Nothing is to outlive the supervisor, which cleans up.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  using namespace oe::app;
  allow_deep_code();
  const std::string_view work = argc > 2 ? argv[1] : "";
  Report r;
  if (work == "verb") {
    r = reported([&](Report& to) {
      run_verb_part(argv[2], {argv + 3, argv + argc}, std::cout, to);
    });
  } else if (work == "convert" && argc > 6) {
    oe::share_trial_note(kTrialFd);
    constexpr int pairs = 7;
    const int pairs_end = std::min(argc, pairs + std::atoi(argv[6]));
    std::vector<oe::LeftOut> left_out;
    for (int i = pairs; i + 1 < pairs_end; i += 2) left_out.push_back({argv[i], argv[i + 1]});
    r = reported([&](Report& to) {
      convert({argv + pairs_end, argv + argc}, std::move(left_out), argv + 2, to);
    });
  } else {
    std::cerr << "onnx-export-worker is started by onnx-export\n";
    return 2;
  }
  send(to_json(r));
  // The files are complete. Tearing LibTorch down takes longer than it is worth.
  std::cout.flush();
  _exit(static_cast<int>(r.exit_code()));
}
