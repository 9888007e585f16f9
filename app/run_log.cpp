// --log-file: what happened, as lines of text with the time (UTC). The supervisor writes it, so
// that it is complete also where the worker crashed.
#include "app/run_log.h"

#include <fcntl.h>
#include <spdlog/logger.h>
#include <spdlog/sinks/basic_file_sink.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "app/supervise/descriptor.h"
#include "lib/support/diagnostics.h"
#include "lib/support/safe_text.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

// "2026-01-31T12:34:56.789Z  stage load"
constexpr const char* kLine = "%Y-%m-%dT%H:%M:%S.%eZ  %v";

bool same_file(const std::string& a, const std::string& b) {
  std::error_code error;
  const auto plain = [&](const std::string& path) {
    return std::filesystem::weakly_canonical(path, error);
  };
  return plain(a) == plain(b) || std::filesystem::equivalent(a, b, error);
}

// Opening a pipe that nobody reads waits for a reader, perhaps for ever.
bool is_pipe_without_reader(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_fifo(path, error)) return false;
  const Descriptor pipe(::open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC));
  return !pipe && errno == ENXIO;
}

}  // namespace

void RunLog::open(const Options& o) {
  if (o.log_file.empty()) return;
  const auto refuse = [&](const std::string& why) {
    throw Failure(ExitCode::Unwritable, "OE0710", "--log-file " + o.log_file + ": " + why,
                  "choose another file");
  };
  if (same_file(o.log_file, o.load.model)) refuse("is the model");
  if (same_file(o.log_file, o.output)) refuse("is the output");
  // The library would make the folder.
  const std::filesystem::path folder = std::filesystem::path(o.log_file).parent_path();
  std::error_code error;
  if (!folder.empty() && !std::filesystem::exists(folder, error)) refuse(std::strerror(ENOENT));
  if (is_pipe_without_reader(o.log_file)) refuse("is a pipe that no process reads");
  errno = 0;
  try {
    log_ = std::make_shared<spdlog::logger>(
        "", std::make_shared<spdlog::sinks::basic_file_sink_st>(o.log_file));
  } catch (const spdlog::spdlog_ex& e) {
    refuse(errno ? std::strerror(errno) : e.what());
  }
  log_->set_pattern(kLine, spdlog::pattern_time_type::utc);
  // A log that cannot be written any more is no reason to stop, or to speak.
  log_->set_error_handler([](const std::string&) {});
}

void RunLog::write(const std::string& text) {
  if (!log_) return;
  for (const std::string& line : split(text, '\n'))
    if (!line.empty()) log_->info(safe_line(line, TextTarget::Log));
  log_->flush();
}

}  // namespace oe::app
