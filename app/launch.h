// The launch of a worker: its first argument, as JSON, and the descriptors that both sides know by
// number.
#pragma once

#include <string>
#include <vector>

#include "app/limits.h"

namespace oe::app {

// The worker writes lines to this descriptor: "versions TEXT", "sandbox JSON", "stage NAME" as each
// begins, its report last.
constexpr int kReportFd = 3;
// Memory that both share: the sizes the worker tries at the moment (lib/support/trial.h).
constexpr int kTrialFd = 4;
// The socket on which the worker asks for files (file_protocol.h).
constexpr int kFilesFd = 5;

struct Launch {
  RunLimits limits;
  uint64_t input_bytes = 0;  // of the mapped files, which do not count as the worker's memory
  bool gpu = false;          // CUDA needs its devices and libraries
  // Loaded before the worker is confined.
  bool onnxruntime = false;
  std::string ort_lib;
  std::vector<std::string> op_libs;
};

std::string to_text(const Launch& l);
// Throws ordered_json::exception.
Launch launch_from(const std::string& text);

}  // namespace oe::app
