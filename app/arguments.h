// What the command lines of all verbs share: CLI11 set up as the house wants it, and errors that
// name the nearest match.
#pragma once

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <vector>

namespace oe::app {

using Strings = std::vector<std::string>;

// Throws Failure(Usage).
[[noreturn]] void usage(const std::string& message, const std::string& hint = {});

// The long names of all options: "--opset".
Strings long_names(const CLI::App& app);

// The index of `text` in `choices`; the first choice when it is empty.
size_t choose(const char* option, const std::string& text, const Strings& choices);

// Reads a whole number from `low` to `high`; an empty text leaves `to` as it is.
template <class T>
void number(const char* option, const std::string& text, T& to, T low, T high) {
  if (text.empty()) return;
  T v{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size())
    usage(std::string(option) + ": '" + text + "' is not an integer");
  if (v < low || v > high)
    usage(std::string(option) + ": " + text + " is not supported",
          "supported: " + std::to_string(low) + " to " + std::to_string(high));
  to = v;
}

// Of --report: throws Failure(Usage) for a file whose ending is none of `endings` (".md", ".html").
void require_format(const Strings& files, const Strings& endings);

// The last value of an option in arguments that may be unreadable; empty: none.
std::string value_of(const std::string& option, const Strings& arguments);

// Whether arguments that may be unreadable ask for a JSON document.
bool wants_json(const Strings& arguments);

// As every command line has it: our own help, the last of several values counts.
void set_up(CLI::App& app);

// Refuses -opset, which would read as -o pset.
void refuse_one_dash(const Strings& arguments, const Strings& known);

// Parses `arguments`. What no option takes is an error with the nearest match, and so is a second
// positional beyond those that the app has.
void parse_strictly(CLI::App& app, Strings arguments, const std::string& surplus_hint);

// Flushes what was printed. Throws Failure(Unwritable) where not all of it could be.
void require_written(std::ostream& out);

// CLI11's help, wrapped to 100 columns, with optional values as people write them.
std::string help_text(CLI::App& app);

}  // namespace oe::app
