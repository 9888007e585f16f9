// --log-file: what happened, as lines of text with the time (UTC). The supervisor writes it, so
// that it is complete also where the worker crashed.
#pragma once

#include <memory>
#include <string>

#include "lib/options/options.h"

namespace spdlog {
class logger;
}

namespace oe::app {

class RunLog {
 public:
  // Appends to o.log_file; without one nothing is written, here and below. Throws
  // Failure(Unwritable) where it cannot be opened, or is the model or the output.
  void open(const Options& o);
  // Each line of `text` is a line of the log, with the time before it.
  void write(const std::string& text);

 private:
  std::shared_ptr<spdlog::logger> log_;
};

}  // namespace oe::app
