// How far a worker is confined: reported by the worker, printed by -v, --json and doctor.
#include "app/sandbox_level.h"

namespace oe::app {
namespace {

// https://docs.kernel.org/userspace-api/landlock.html, "Previous limitations"
constexpr int kLandlockWithNetwork = 4, kLandlockWithSignals = 6;

}  // namespace

std::string sandbox_text(const SandboxLevel& l) {
  if (l.off) return "off";
  std::string text;
  if (l.landlock > 0) {
    text =
        "Landlock " + std::to_string(l.landlock) + (l.gpu ? " (only what CUDA opens" : " (no path");
    if (l.landlock >= kLandlockWithNetwork) text += ", no network";
    if (l.landlock >= kLandlockWithSignals) text += ", no signals";
    text += ")";
  } else {
    text = "no Landlock";
  }
  text += l.seccomp ? ", seccomp" : ", no seccomp";
  return text + (l.no_new_privs ? ", no new privileges" : "");
}

ordered_json sandbox_json(const SandboxLevel& l) {
  return {{"off", l.off},
          {"gpu", l.gpu},
          {"no_new_privs", l.no_new_privs},
          {"seccomp", l.seccomp},
          {"landlock", l.landlock}};
}

SandboxLevel sandbox_from(const ordered_json& j) {
  return {j.at("off"), j.at("gpu"), j.at("no_new_privs"), j.at("seccomp"), j.at("landlock")};
}

}  // namespace oe::app
