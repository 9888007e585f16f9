// Signals that end the supervisor: held while files are made, so that none is left half-way.
#pragma once

#include <csignal>

namespace oe::app {

// SIGINT, SIGTERM and SIGHUP, without those that the caller's environment ignores (nohup, a
// background job).
sigset_t ending_signals();

// Keeps them waiting from now on: run_worker() looks for them.
void hold_ending_signals();

// Ends the way the signal would have ended us.
[[noreturn]] void end_by(int number);

}  // namespace oe::app
