// How far a worker is confined: reported by the worker, printed by -v, --json and doctor.
#pragma once

#include <string>

#include "app/json.h"

namespace oe::app {

struct SandboxLevel {
  bool off = false;           // --sandbox=off
  bool gpu = false;           // devices and libraries of CUDA stay reachable
  bool no_new_privs = false;  // no privilege can be gained any more
  bool seccomp = false;       // only the system calls that computing needs
  int landlock = 0;           // version of the kernel's interface; 0: it has none

  // Nothing is missing that --sandbox=require asks for.
  bool complete() const { return no_new_privs && seccomp && landlock > 0; }
};

// "Landlock 7 (no path, no network, no signals), seccomp, no new privileges"
std::string sandbox_text(const SandboxLevel& l);
ordered_json sandbox_json(const SandboxLevel& l);
// Throws ordered_json::exception.
SandboxLevel sandbox_from(const ordered_json& j);

}  // namespace oe::app
