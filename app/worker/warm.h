// The warm worker: it has loaded LibTorch, and forks a process for each run.
#pragma once

#include <string>
#include <vector>

namespace oe::app {

// Serves requests (warm_protocol.h) until the supervisor is gone, and then ends the process. It
// returns in each forked process: with the words of its command line, and with the descriptors that
// a worker has. No thread may be running.
std::vector<std::string> wait_for_work();

}  // namespace oe::app
