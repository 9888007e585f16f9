// A worker that has loaded LibTorch and forks a process for each run, so that a run pays for its
// own work only.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/launch.h"
#include "app/supervise/start.h"

namespace oe::app {

// Started by the process that owns it, and used by those that are forked from it. A process that
// the warm worker forks is confined like one that was executed; it shares the layout of its address
// space with the others of the batch.
class WarmWorkers {
 public:
  // `libraries`: what every run loads before it is confined.
  explicit WarmWorkers(Launch libraries) : libraries_(std::move(libraries)) {}
  ~WarmWorkers();
  WarmWorkers(const WarmWorkers&) = delete;
  WarmWorkers& operator=(const WarmWorkers&) = delete;

  // Starts the process, unless it runs. Where it cannot, runs start workers of their own.
  void ensure_running();
  // False where the warm worker is not there; `w` is unchanged then.
  bool start(const std::vector<std::string>& arguments, std::span<const Given> given,
             StartedWorker& w) const;
  // In a forked process: its end is not the warm worker's.
  void disown() { pid_ = -1; }

 private:
  Launch libraries_;
  Descriptor requests_;
  pid_t pid_ = -1;
};

// The status of a forked worker; nothing: it runs. One whose warm worker is gone was killed with
// it.
std::optional<int> reported_end(int socket, bool without_waiting);

}  // namespace oe::app
