// Signals that end the supervisor: held while files are made, so that none is left half-way.
#include "app/supervise/signals.h"

#include <unistd.h>

#include <initializer_list>

namespace oe::app {

sigset_t ending_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int s : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction now;
    sigaction(s, nullptr, &now);
    if (now.sa_handler != SIG_IGN) sigaddset(&set, s);
  }
  return set;
}

int pending_signal() {
  sigset_t waiting;
  if (sigpending(&waiting) != 0) return 0;
  for (const int s : {SIGINT, SIGTERM, SIGHUP})
    if (sigismember(&waiting, s) == 1) return s;
  return 0;
}

void hold_ending_signals() {
  const sigset_t ending = ending_signals();
  sigprocmask(SIG_BLOCK, &ending, nullptr);
}

void end_by(int number) {
  signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  raise(number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  _exit(128 + number);
}

}  // namespace oe::app
