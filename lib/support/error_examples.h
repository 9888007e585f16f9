// One real example of each problem: a model, a command line, and what the tool prints.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oe {

// The texts end in a newline each, or are empty.
struct ErrorExample {
  std::string_view model;    // Python that makes the files; empty where the command line is enough
  std::string_view command;  // one command a line; the last one meets the problem
  std::string_view message;  // what the last command prints
  std::string_view instead;  // what avoids it: a diff of the model (-, +), commands ($ )
};

// Nothing: the problem cannot be shown by an example, such as a bug of the converter.
std::optional<ErrorExample> error_example(std::string_view code);

// A paragraph in lines of at most 100 columns, each with its newline.
std::string wrapped(std::string_view paragraph);

}  // namespace oe
