// The limits of a run, the sandbox mode and LibTorch: options of every verb that starts a worker.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

namespace oe::app {

// How the worker is confined: with what the kernel has; not at all where something is missing; not.
enum class SandboxMode { Auto, Require, Off };

// As they stand on the command line.
struct LimitTexts {
  std::string sandbox, time, memory, size, torch;
};

struct Limits {
  SandboxMode sandbox = SandboxMode::Auto;
  // Nothing: the default for the file at hand.
  std::optional<double> seconds;         // wall-clock time of the whole run
  std::optional<uint64_t> memory, size;  // bytes: of the worker's own memory, of any one file
};

// Limits with every default filled in.
struct RunLimits {
  SandboxMode sandbox = SandboxMode::Auto;
  double seconds = 0;
  uint64_t memory = 0, size = 0;
};

void add_limit_options(CLI::App& app, LimitTexts& texts, const char* group);

// Throws Failure(Usage). Hands --torch on as the variable ONNX_EXPORT_TORCH.
Limits read_limits(const LimitTexts& texts);

// The defaults scale with the bytes of the input files: 10 minutes and one more for each 64 MiB;
// memory of 8 GiB and four times the files, at most what the machine has; files of 20 GiB and four
// times the files.
RunLimits limits_for(const Limits& given, uint64_t input_bytes);

// "10 min", "1.5 s".
std::string duration_text(double seconds);

}  // namespace oe::app
