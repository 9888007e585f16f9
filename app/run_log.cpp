// --log-file: what happened, as lines of text with the time (UTC). The supervisor writes it, so
// that it is complete also where the worker crashed.
#include "app/run_log.h"

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <filesystem>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

// "2026-01-31T12:34:56.789Z"
std::string time_stamp() {
  using namespace std::chrono;
  const auto now = system_clock::now();
  const std::time_t seconds = system_clock::to_time_t(now);
  const auto milliseconds = duration_cast<std::chrono::milliseconds>(now.time_since_epoch()) % 1000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char date[32], text[40];
  std::strftime(date, sizeof date, "%FT%T", &utc);
  std::snprintf(text, sizeof text, "%s.%03dZ", date, static_cast<int>(milliseconds.count()));
  return text;
}

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto plain = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(path, error);
  };
  return plain(a) == plain(b) || std::filesystem::equivalent(a, b, error);
}

}  // namespace

void RunLog::open(const Options& o) {
  if (o.log_file.empty()) return;
  const auto refuse = [&](const std::string& why) {
    throw Failure(ExitCode::Unwritable, "OE0710", "--log-file " + o.log_file + ": " + why,
                  "name another file");
  };
  if (same_file(o.log_file, o.model)) refuse("is the model");
  if (same_file(o.log_file, o.output)) refuse("is the output");
  errno = 0;
  out_.open(o.log_file, std::ios::app);
  if (!out_) refuse(std::strerror(errno));
}

void RunLog::write(const std::string& text) {
  if (!out_.is_open()) return;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) out_ << time_stamp() << "  " << line << "\n";
  out_.flush();
}

}  // namespace oe::app
