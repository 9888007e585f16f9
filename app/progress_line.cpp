// The running stage and its seconds, rewritten in place on standard error while the worker works.
#include "app/progress_line.h"

#include <unistd.h>

#include <iostream>

#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

constexpr const char* kErase = "\r\33[K";

bool automatic(const Options& o) {
  return o.verbosity == 0 && o.print_ir.empty() && !o.json &&
         o.diagnostic_format == DiagnosticFormat::Text && isatty(STDERR_FILENO);
}

}  // namespace

ProgressLine::ProgressLine(const Options& o)
    : wanted_(o.progress == Progress::Auto ? automatic(o) : o.progress == Progress::Always),
      always_(o.progress == Progress::Always) {}

ProgressLine::~ProgressLine() {
  if (!shown_.empty()) std::cerr << kErase << std::flush;
}

void ProgressLine::stage(const std::string& name) {
  stage_ = safe_line(name);
  stage_start_ = Clock::now();
  show();
}

void ProgressLine::show() {
  const Clock::time_point now = Clock::now();
  if (!wanted_ || (!always_ && now - start_ < std::chrono::seconds(1))) return;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now - stage_start_).count();
  const std::string text = stage_ + " " + std::to_string(seconds) + " s";
  if (text == shown_) return;
  std::cerr << kErase << text << std::flush;
  shown_ = text;
}

}  // namespace oe::app
