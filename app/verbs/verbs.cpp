// The table of verbs, and how their arguments are read.
#include <array>

#include "app/verbs/explain.h"
#include "app/verbs/inspect.h"
#include "app/verbs/verb.h"

namespace oe::app {
namespace {

constexpr std::array kVerbs = {
    VerbEntry{"inspect", "what is in a file: methods, inputs, weights, modules, operators",
              &make<Inspect>},
    VerbEntry{"explain", "what a problem's code means and what to do", &make<Explain>},
};

}  // namespace

std::span<const VerbEntry> verbs() { return kVerbs; }

const VerbEntry* find_verb(std::string_view word) {
  for (const VerbEntry& v : kVerbs)
    if (v.name == word) return &v;
  return nullptr;
}

VerbLine::VerbLine(const VerbEntry& entry)
    : verb(entry.make()),
      app("onnx-export " + std::string(entry.name) + ": " + std::string(entry.what),
          "onnx-export " + std::string(entry.name)) {
  app.set_help_flag();
  app.allow_extras();
  app.option_defaults()->take_last();
  verb->options(app);
  app.add_option("--color", color, "auto, always or never (default auto)")->type_name("WHEN");
  app.add_flag("-h,--help", help, "this text");
}

std::unique_ptr<Verb> read_verb(const VerbEntry& entry, const Strings& arguments,
                                std::string& text) {
  VerbLine line(entry);
  parse_strictly(line.app, arguments, line.app.get_name() + " --help shows how to call it");
  if (line.help) {
    text = help_text(line.app);
    return nullptr;
  }
  choose("--color", line.color, {"auto", "always", "never"});
  line.verb->read();
  return std::move(line.verb);
}

}  // namespace oe::app
