// Runs the worker and waits for its report, for its death, or for a signal to ourselves.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/report.h"
#include "lib/options.h"

namespace oe::app {

// The worker writes lines to this file descriptor: "versions TEXT", "stage NAME" as each begins,
// its report last.
constexpr int kReportFd = 3;
// What the worker tries at the moment (lib/support/trial.h): memory that both share.
constexpr int kTrialFd = 4;

struct WorkerResult {
  std::string report;          // the last line; empty when the worker did not get that far
  std::string stage;           // the last one it began
  int exit_status = 0;         // when it exited
  int signal = 0;              // when a signal ended it
  int our_signal = 0;          // when one ended us: the worker is dead, the caller cleans up
  bool out_of_memory = false;  // the kernel killed a process for memory meanwhile
  // At its death: sizes of the converter's own choosing that it ran (none: empty), the operator.
  LeftOut trial;
};

// Keeps SIGINT, SIGTERM and SIGHUP waiting from now on: run_worker() looks for them, and files are
// never left half-way. Those that the caller's environment ignores stay ignored.
void hold_ending_signals();

// Who wants to know what the worker does. Any may be empty.
struct WorkerListener {
  std::function<void(const std::string& text)> versions;  // "LibTorch 2.13.0, ONNX 1.23.2"
  std::function<void(const std::string& name)> stage;     // begins
  std::function<void()> waiting;                          // a few times a second
};

// Runs onnx-export-worker, which lies beside this executable. Throws Failure(Internal) when it
// cannot be started.
WorkerResult run_worker(const std::vector<std::string>& arguments,
                        const WorkerListener& listener = {});

// What the worker's death means, when it left no report.
Stop stop_of(const WorkerResult& w);

// Ends the way the signal would have ended us.
[[noreturn]] void end_by(int number);

}  // namespace oe::app
