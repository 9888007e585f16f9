// Messages on standard error, in colour where that is wanted.
#include "app/console.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <utility>

#include "app/arguments.h"
#include "lib/support/safe_text.h"

namespace oe::app {
namespace {

bool use_color(Color c) {
  if (c != Color::Auto) return c == Color::Always;
  const auto set = [](const char* name) {
    const char* v = std::getenv(name);
    return v && *v && std::strcmp(v, "0") != 0;
  };
  if (std::getenv("NO_COLOR") && *std::getenv("NO_COLOR")) return false;
  return set("CLICOLOR_FORCE") || isatty(STDERR_FILENO);
}

}  // namespace

Color wanted_color(const std::vector<std::string>& arguments) {
  const std::string value = value_of("--color", arguments);
  return value == "always" ? Color::Always : value == "never" ? Color::Never : Color::Auto;
}

void say(const std::string& text, Color wanted) {
  SafeStream safe(std::cerr);
  if (!use_color(wanted)) {
    safe << text;
    return;
  }
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size() - 1) + 1;
    std::string line = text.substr(begin, end - begin);
    for (const auto& [word, code] :
         {std::pair{"error:", "\33[1;31m"}, std::pair{"warning:", "\33[1;33m"},
          std::pair{"note:", "\33[1;36m"}, std::pair{"hint:", "\33[36m"}})
      if (line.starts_with(word)) {
        std::cerr << code << word << "\33[0m";
        line.erase(0, std::strlen(word));
        break;
      }
    safe << line << std::flush;
    begin = end;
  }
}

}  // namespace oe::app
