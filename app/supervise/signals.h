// Signals that end the supervisor: held while files are made, so that none is left half-way.
#pragma once

#include <csignal>

namespace oe::app {

// SIGINT, SIGTERM and SIGHUP, without those that the caller's environment ignores (nohup, a
// background job).
sigset_t ending_signals();

// Thrown where nothing is half-way: the caller cleans up and ends by the signal.
struct Interrupted {
  int signal;
};

// One of them that arrived and waits; 0: none.
int pending_signal();

// Keeps them waiting from now on: run_worker() looks for them.
void hold_ending_signals();

// Ends the way the signal would have ended us.
[[noreturn]] void end_by(int number);

}  // namespace oe::app
