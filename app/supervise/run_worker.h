// Runs the worker within its limits and waits for its report, for its death, or for a signal to
// ourselves.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "app/launch.h"
#include "app/report.h"
#include "app/sandbox_level.h"
#include "app/supervise/file_broker.h"
#include "app/supervise/signals.h"
#include "lib/options/options.h"

namespace oe::app {

class WarmWorkers;

struct WorkerJob {
  Launch launch;
  WarmWorkers* warm = nullptr;  // starts it; null: it is an executable of its own
  std::vector<std::string> arguments;
  FileBroker* files = nullptr;  // answers what the worker asks for
  // The time limit counts from here.
  std::chrono::steady_clock::time_point start = std::chrono::steady_clock::now();
};

struct WorkerResult {
  enum class Crossed { Nothing, Time, Memory };

  std::string report;          // the last line; empty when the worker did not get that far
  std::string stage;           // the last one it began
  std::string start_error;     // printed before it could work: by the loader of libraries
  int exit_status = 0;         // when it exited
  int signal = 0;              // when a signal ended it
  int our_signal = 0;          // when one ended us: the worker is dead, the caller cleans up
  bool out_of_memory = false;  // the kernel killed a process for memory meanwhile
  Crossed crossed = Crossed::Nothing;  // the limit for which it was ended here
  uint64_t address_space = 0;          // bytes, the most that it had
  std::optional<SandboxLevel> sandbox;
  // At its death: sizes of the converter's own choosing that it ran (none: empty), the operator.
  LeftOut trial;
};

// Who wants to know what the worker does. Any may be empty.
struct WorkerListener {
  // "LibTorch 2.13.0, ONNX 1.23.2", "sandbox Landlock 7, ..."
  std::function<void(const std::string& text)> environment;
  std::function<void(const std::string& name)> stage;  // begins
  std::function<void()> waiting;                       // a few times a second
};

// Throws Failure(Internal) when the worker cannot be started.
WorkerResult run_worker(const WorkerJob& job, const WorkerListener& listener = {});

// The reason to report for a worker that ended without a report.
Stop stop_of(const WorkerResult& w, const WorkerJob& job);

// Names the limit in a report of exhausted memory; leaves every other one as it is.
void name_memory_limit(Stop& s, const WorkerResult& w, const WorkerJob& job);

}  // namespace oe::app
