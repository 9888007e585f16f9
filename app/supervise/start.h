// Starts the worker with descriptors and an environment that were chosen for it.
#pragma once

#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/supervise/descriptor.h"
#include "lib/options/options.h"

namespace oe::app {

// The worker's end is closed in this process once the worker has it.
struct WorkerPipes {
  Descriptor report, files, output, errors;
};

// Memory in which the worker notes the sizes that it tries (lib/support/trial.h).
class TrialMemory {
 public:
  TrialMemory();
  int descriptor() const { return memory_.get(); }
  // The note of a dead worker. It is text of the worker's making, so its end is set here.
  LeftOut read() const;

 private:
  Descriptor memory_;
};

struct StartedWorker {
  pid_t pid = -1;
  WorkerPipes pipes;
  // Of a worker that a warm process forked, and which is no child of ours: the process itself, and
  // the socket on which that process reports its end.
  Descriptor process, end;
};

// One of our descriptors, and the number that the worker knows it by.
struct Given {
  int descriptor, number;
};

// Runs onnx-export-worker, which lies beside this executable, with these descriptors and no others.
// Throws Failure(Internal, OE0002), and what libtorch_folders() throws.
pid_t spawn_worker(const std::vector<std::string>& arguments, std::span<const Given> given);

class WarmWorkers;

// A worker, forked from the warm process where there is one. Throws as spawn_worker().
StartedWorker start_worker(const std::vector<std::string>& arguments, const TrialMemory& trial,
                           WarmWorkers* warm);

}  // namespace oe::app
