// The limits of a run, the sandbox mode and LibTorch: options of every verb that starts a worker.
#include "app/limits.h"

#include <sys/sysinfo.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>

#include "app/arguments.h"
#include "app/choices.h"
#include "lib/options/option_text.h"

namespace oe::app {
namespace {

constexpr uint64_t kGiB = uint64_t{1} << 30;

double parse_duration(const std::string& text) {
  static constexpr std::pair<const char*, double> units[] = {
      {"", 1}, {"s", 1}, {"sec", 1}, {"min", 60}, {"m", 60}, {"h", 3600}, {"ms", 1e-3}};
  double n = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
  constexpr double longest = 1e9;
  if (error == std::errc())
    for (const auto& [unit, factor] : units)
      if (std::string_view(end) == unit && n * factor > 0 && n * factor <= longest)
        return n * factor;
  usage("--max-time: '" + text + "' is not a time above zero", "write 90s, 10min or 2h");
}

std::optional<uint64_t> parse_limit(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  const int64_t bytes = parse_size(text, option);
  if (bytes == 0)
    usage(std::string(option) + ": 0 is not a size above zero", "write 512MiB or 8GiB");
  return static_cast<uint64_t>(bytes);
}

uint64_t machine_memory() {
  struct sysinfo s {};
  return sysinfo(&s) == 0 ? uint64_t{s.totalram} * s.mem_unit : UINT64_MAX;
}

}  // namespace

void add_limit_options(CLI::App& app, LimitTexts& texts, const char* group) {
  const auto text = [&](const char* name, std::string& to, const char* what, const char* value) {
    app.add_option(name, to, what)->type_name(value)->group(group);
  };
  text("--sandbox", texts.sandbox,
       "Confine the worker that runs the model: auto uses everything that the kernel "
       "offers, require fails (exit code 10) if a part is missing, off (default auto)",
       "MODE");
  text("--max-time", texts.time,
       "Time limit of the run: 90s, 10min, 2h (default 10min, plus 1min for each 64 MiB "
       "of input)",
       "TIME");
  text("--max-memory", texts.memory,
       "Memory limit of the worker, without the pages of mapped files (default 8GiB plus "
       "four times the input, at most the machine's memory)",
       "SIZE");
  text("--max-size", texts.size,
       "Largest file to read or write (default 20GiB plus four times the input)", "SIZE");
  text("--torch", texts.torch,
       "The torch package or LibTorch folder to use (default: ONNX_EXPORT_TORCH, else "
       "search for it)",
       "DIR");
}

Limits read_limits(const LimitTexts& texts) {
  Limits l;
  choose("--sandbox", texts.sandbox, l.sandbox);
  if (!texts.time.empty()) l.seconds = parse_duration(texts.time);
  l.memory = parse_limit(texts.memory, "--max-memory");
  l.size = parse_limit(texts.size, "--max-size");
  // One variable for the workers of a batch too, which start much later.
  if (!texts.torch.empty()) setenv("ONNX_EXPORT_TORCH", texts.torch.c_str(), /*overwrite=*/1);
  return l;
}

RunLimits limits_for(const Limits& given, uint64_t input_bytes) {
  constexpr double per_byte = 60.0 / (64 << 20);
  const uint64_t scaled = 4 * std::min(input_bytes, UINT64_MAX / 8);
  return {given.sandbox, given.seconds.value_or(600 + per_byte * static_cast<double>(input_bytes)),
          given.memory.value_or(std::min(8 * kGiB + scaled, machine_memory())),
          given.size.value_or(20 * kGiB + scaled)};
}

std::string duration_text(double seconds) {
  const bool minutes = seconds >= 120;
  char text[32];
  std::snprintf(text, sizeof text, "%.4g %s", minutes ? seconds / 60 : seconds,
                minutes ? "min" : "s");
  return text;
}

}  // namespace oe::app
