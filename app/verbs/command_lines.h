// The options of every verb as plain data, read off the tables that parse them.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.h"

namespace oe::app {

struct OptionLine {
  Strings names;             // "-o", "--output"
  std::string value;         // what it takes: "PATH"; empty: nothing
  bool may_be_bare = false;  // the value stands behind '=' or not at all
  bool files = false;        // the value is a file
  Strings words;             // those it takes; empty: any
  std::string group, what;
};

struct CommandLineOf {
  std::string name, what;  // "convert"
  Strings positionals;     // "MODEL"
  std::vector<OptionLine> options;
};

// `convert` first, then the verbs in the order of --help.
std::vector<CommandLineOf> command_lines();

// Whether a value of this name is a file: "FILE", "MODEL", "A.onnx".
bool names_file(const std::string& value);

}  // namespace oe::app
