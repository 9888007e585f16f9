// Starts the worker with descriptors and an environment that were chosen for it.
#pragma once

#include <sys/types.h>

#include <optional>
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
};

// Runs onnx-export-worker, which lies beside this executable. Throws Failure(Internal, OE0002).
StartedWorker start_worker(const std::vector<std::string>& arguments, const TrialMemory& trial);

}  // namespace oe::app
