// The command lines of `onnx-export convert` and `check`, shared by the supervisor and the worker.
#pragma once

#include <CLI/CLI.hpp>
#include <set>
#include <string>
#include <vector>

#include "app/console.h"
#include "app/limits.h"
#include "lib/options/options.h"

namespace oe::app {

struct CommandLine {
  Options options;
  std::vector<Options>
      methods;  // of each that is converted (lib/options/methods.h): one, or several
  Limits limits;
  Color color = Color::Auto;
  // Files that the worker reads: the model, the ONNX file, values, rules. Folders of test data.
  std::vector<std::string> files, folders;
  // The options that decide on the result, in the order of the option table: "--opset=17".
  std::vector<std::string> words;
  std::string text;  // --help, --help-all, --version: print this and stop
};

// Arguments with the options whose value may be left out joined to their value.
std::vector<std::string> prepared(const std::vector<std::string>& arguments);
// Options that can be repeated keep all of their values.
void take_all_of_repeated(CLI::App& app);
// The options that were given as words of a command line, but those in `without`.
std::vector<std::string> words_of(const CLI::App& app, const std::set<std::string>& without);

// `arguments` without the program's name; the first may be one of the two verbs. Nothing on disk is
// touched, except that --dynamic-axes
// @FILE is read. Throws Failure(Usage) with the nearest match.
CommandLine parse_command_line(const std::vector<std::string>& arguments);

}  // namespace oe::app
