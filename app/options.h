// The command line of `onnx-export convert`, shared by the supervisor and the worker.
#pragma once

#include <string>
#include <vector>

#include "app/console.h"
#include "lib/options.h"

namespace oe::app {

struct CommandLine {
  Options options;
  Color color = Color::Auto;
  std::string text;  // --help, --help-all, --version: print this and stop
};

// `arguments` without the program's name. Nothing on disk is touched, except that --dynamic-axes
// @FILE is read. Throws Failure(Usage) with the nearest match.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace oe::app
