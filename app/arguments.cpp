// What the command lines of all verbs share.
#include "app/arguments.h"

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <utility>

#include "lib/support/diagnostics.h"
#include "lib/support/text.h"

namespace oe::app {
namespace {

void refuse_extras(const CLI::App& app, const std::string& surplus_hint) {
  for (const std::string& extra : app.remaining()) {
    if (extra == "--") continue;  // ends the options
    if (extra.starts_with("-") && extra.size() > 1) {
      const std::string name = extra.substr(0, extra.find('='));
      std::string hint = did_you_mean(name, long_names(app));
      const std::string all = app.get_option_no_throw("--help-all") ? "--help-all" : "--help";
      usage("unknown option '" + name + "'",
            hint.empty() ? app.get_name() + " " + all + " lists them" : hint);
    }
    usage("unexpected argument '" + extra + "'", surplus_hint);
  }
}

}  // namespace

void usage(const std::string& message, const std::string& hint) {
  throw Failure(ExitCode::Usage, "OE0001", message, hint);
}

Strings long_names(const CLI::App& app) {
  Strings names;
  for (const CLI::Option* o : app.get_options())
    for (const std::string& n : o->get_lnames()) names.push_back("--" + n);
  return names;
}

size_t choose(const char* option, const std::string& text, const Strings& choices) {
  if (text.empty()) return 0;
  for (size_t i = 0; i < choices.size(); ++i)
    if (choices[i] == text) return i;
  std::string hint = did_you_mean(text, choices);
  usage(std::string(option) + ": unknown value '" + text + "'",
        hint.empty() ? "use one of " + join(choices, ", ") : hint);
}

void require_format(const Strings& files, const Strings& endings) {
  for (const std::string& file : files)
    if (std::ranges::find(endings, std::filesystem::path(file).extension().string()) ==
        endings.end()) {
      const Strings most(endings.begin(), endings.end() - 1);
      usage("--report: '" + file + "' has no format in its name",
            "use a file name that ends with " + join(most, ", ") + " or " + endings.back());
    }
}

std::string value_of(const std::string& option, const Strings& arguments) {
  std::string value;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == option && i + 1 < arguments.size()) value = arguments[i + 1];
    if (arguments[i].starts_with(option + "=")) value = arguments[i].substr(option.size() + 1);
  }
  return value;
}

bool wants_json(const Strings& arguments) {
  const auto end = std::find(arguments.begin(), arguments.end(), "--");
  return std::find(arguments.begin(), end, "--json") != end ||
         value_of("--format", arguments) == "json";
}

void set_up(CLI::App& app) {
  app.set_help_flag();
  app.allow_extras();
  app.option_defaults()->take_last();
}

void refuse_one_dash(const Strings& arguments, const Strings& known) {
  for (const std::string& a : arguments) {
    if (a == "--") return;
    if (a.size() <= 2 || a[0] != '-' || a[1] == '-') continue;
    const std::string twice = "-" + a.substr(0, a.find('='));
    if (std::find(known.begin(), known.end(), twice) != known.end())
      usage("unknown option '" + a + "'", "did you mean '" + twice + "'?");
  }
}

void parse_strictly(CLI::App& app, Strings arguments, const std::string& surplus_hint) {
  refuse_one_dash(arguments, long_names(app));
  std::reverse(arguments.begin(), arguments.end());  // CLI11 takes them from the end
  try {
    app.parse(arguments);
  } catch (const CLI::ParseError& e) {
    usage(e.what());
  }
  const bool asks = std::any_of(arguments.begin(), arguments.end(), [](const std::string& a) {
    return a == "-h" || a == "--help" || a == "--help-all" || a == "--version";
  });
  if (!asks) refuse_extras(app, surplus_hint);
}

void require_written(std::ostream& out) {
  if (!out.flush())
    throw Failure(ExitCode::Unwritable, "OE0705", "standard output: writing failed before the end",
                  "free disk space, or check the program that reads the output");
}

std::string help_text(CLI::App& app) {
  constexpr size_t width = 100, indent = 34;
  app.get_formatter()->column_width(indent);
  std::string out;
  bool blank = false;
  for (std::string line : split(app.help(), '\n')) {
    for (const auto& [from, to] :
         {std::pair{"[MODEL] []", "[MODEL] [OUT.onnx]"},
          std::pair{"--verify{ort}          ", "--verify[=ort|off]     "},
          std::pair{"--external-data{always}", "--external-data[=WHEN]"},
          std::pair{"--keep-initializers-as-inputs{yes}", "--keep-initializers-as-inputs[=WHEN]"},
          std::pair{"--print-ir             ", "--print-ir[=WHEN:STAGE]"}})
      if (const size_t at = line.find(from); at != std::string::npos)
        line.replace(at, std::string_view(from).size(), to);
    line.erase(line.find_last_not_of(' ') + 1);
    if (line.empty() && blank) continue;
    blank = line.empty();
    while (line.size() > width) {
      const size_t space = line.rfind(' ', width);
      out += line.substr(0, space) + "\n";
      line = std::string(indent, ' ') + line.substr(space + 1);
    }
    out += line + "\n";
  }
  while (out.ends_with("\n\n")) out.pop_back();
  return out;
}

}  // namespace oe::app
