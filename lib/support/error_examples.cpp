// Finds an example in the texts of error_examples/; tests/explain/README.md is their format.
#include "lib/support/error_examples.h"

namespace oe {

extern const char* const kErrorExampleTexts[];  // made by CMake, ends with a null pointer

namespace {

// From behind the line `start` to the next line that begins with `end`.
std::string_view part(std::string_view text, const std::string& start, std::string_view end) {
  const size_t found = text.find("\n" + start + "\n");
  if (found == std::string_view::npos) return {};
  const size_t first = found + start.size() + 2;
  // The newline of `start` counts: a part may be empty.
  const size_t last = text.find("\n" + std::string(end), first - 1);
  return last == std::string_view::npos ? text.substr(first) : text.substr(first, last + 1 - first);
}

}  // namespace

std::optional<ErrorExample> error_example(std::string_view code) {
  for (const char* const* text = kErrorExampleTexts; *text; ++text) {
    const std::string_view all = part(*text, "## " + std::string(code), "## ");
    if (all.empty()) continue;
    // With the newline before it, which begins the first section's line.
    const std::string_view example(all.data() - 1, all.size() + 1);
    const auto section = [&](const char* name) {
      return part(example, std::string("-- ") + name, "-- ");
    };
    ErrorExample e{section("model.py"), section("command"), section("message"), section("instead")};
    if (e.command.empty()) return {};
    return e;
  }
  return {};
}

std::string wrapped(std::string_view paragraph) {
  constexpr size_t kColumns = 100;
  std::string out;
  while (paragraph.size() > kColumns) {
    const size_t blank = paragraph.rfind(' ', kColumns);
    if (blank == std::string_view::npos) break;
    out.append(paragraph.substr(0, blank)) += '\n';
    paragraph.remove_prefix(blank + 1);
  }
  return out.append(paragraph) + "\n";
}

}  // namespace oe
